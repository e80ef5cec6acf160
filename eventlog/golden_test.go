package eventlog

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files that are missing; existing ones are never changed")

// golden is one file of testdata/golden: a stored transition with one fact, and what it reads as.
type golden struct {
	Stored string          `json:"stored"` // hex
	Record json.RawMessage `json:"record"`
}

func goldenPath(t FactType, version int) string {
	return filepath.Join("testdata", "golden", fmt.Sprintf("%s.v%d.json", t, version))
}

// TestGolden: what any released version has written is read as what it meant then. A failure
// means that stored logs would be read differently: add a version and an upcast instead.
func TestGolden(t *testing.T) {
	types := FactTypes()
	slices.Sort(types)
	for _, typ := range types {
		t.Run(string(typ), func(t *testing.T) {
			version := facts[typ].version
			path := goldenPath(typ, version)
			if _, err := os.Stat(path); err != nil && *update {
				writeGolden(t, path, sample(t, typ))
			}
			stored := checkGolden(t, path)
			want := sample(t, typ)
			got, err := Decode(stored)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("decoded %+v\nwant    %+v", got.Facts[0], want.Facts[0])
			}
			again, err := Encode(got)
			if err != nil || !bytes.Equal(again, stored) {
				t.Errorf("%s is written differently now (%v); a changed shape needs a new version", typ, err)
			}
		})
	}
}

// TestGoldenOlder reads the files of all versions, also of those no longer written.
func TestGoldenOlder(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < len(facts) {
		t.Errorf("%d golden files for %d types; run go test ./eventlog -run Golden -update", len(files), len(facts))
	}
	name := regexp.MustCompile(`^([a-z_]+\.[a-z_]+)\.v(\d+)\.json$`)
	for _, f := range files {
		m := name.FindStringSubmatch(filepath.Base(f))
		if m == nil {
			t.Errorf("%s is not named <type>.v<version>.json", f)
			continue
		}
		version, err := strconv.Atoi(m[2])
		if r, ok := retired[FactType(m[1])]; ok && err == nil && version <= r.version {
			continue // see TestRetired
		}
		if entry, ok := facts[FactType(m[1])]; err != nil || !ok || version > entry.version {
			t.Errorf("%s: there is no such type and version", f)
			continue
		}
		checkGolden(t, f)
	}
}

func checkGolden(t *testing.T, path string) []byte {
	t.Helper()
	g := readGolden(t, path)
	stored := storedBytes(t, g)
	got := render(t, stored)
	var want bytes.Buffer
	if err := json.Compact(&want, g.Record); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if got != want.String() {
		t.Errorf("%s reads as\n%s\nwant\n%s", path, got, want.String())
	}
	return stored
}

func readGolden(t *testing.T, path string) golden {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; a new, newer or retired type needs its file: go test ./eventlog -update", err)
	}
	var g golden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return g
}

func storedBytes(t *testing.T, g golden) []byte {
	t.Helper()
	stored, err := hex.DecodeString(g.Stored)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func render(t *testing.T, stored []byte) string {
	t.Helper()
	tr, err := Decode(stored)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(Record{Position: Position{Seq: 1}, Hash: HashOf(stored), Size: len(stored), Transition: tr})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeGolden(t *testing.T, path string, tr Transition) {
	t.Helper()
	stored, err := Encode(tr)
	if err != nil {
		t.Fatal(err)
	}
	writeGoldenFile(t, path, stored)
}

func writeGoldenFile(t *testing.T, path string, stored []byte) {
	t.Helper()
	b, err := json.MarshalIndent(golden{hex.EncodeToString(stored), json.RawMessage(render(t, stored))}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sample is a transition whose one fact has every field set.
func sample(t *testing.T, typ FactType) Transition {
	t.Helper()
	f := NewFact(typ)
	n := 0
	populate(t, reflect.ValueOf(f).Elem(), string(typ), &n)
	return Transition{
		ID:       "01JD0000000000000000000000",
		Workflow: "sample",
		Revision: 3,
		Prev:     HashOf([]byte("previous")),
		At:       1_700_000_000_123_456,
		Actor:    Actor{Kind: "user", Name: "ada", Verified: true},
		Cause:    Cause{Kind: "run", ID: "01JD0000000000000000000001"},
		Kind:     typ,
		Facts:    []Fact{f},
	}
}

// populate sets every field, so that one that is not stored or not read shows.
func populate(t *testing.T, v reflect.Value, name string, n *int) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("msgpack") == "-" {
				continue // never stored
			}
			populate(t, v.Field(i), strings.ToLower(v.Type().Field(i).Name), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("%s-%d", name, *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(1000 + *n))
	case reflect.Uint64:
		v.SetUint(uint64(1000 + *n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		populate(t, v.Elem(), name, n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		populate(t, key, name, n)
		populate(t, value, name, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(fmt.Sprintf(`{"%s":%d}`, name, *n)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		populate(t, v.Index(0), name, n)
	default:
		t.Fatalf("%s: no sample for %s", name, v.Type())
	}
}
