package pack_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/pack"
	"github.com/pawl-run/pawl/projections"
)

// library writes like the library does.
func library(t *testing.T, style pack.Style, v any) []byte {
	t.Helper()
	var buf bytes.Buffer
	enc := msgpack.NewEncoder(&buf)
	if style == pack.Positional {
		enc.UseArrayEncodedStructs(true)
		enc.UseCompactInts(true)
	}
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func same(t *testing.T, style pack.Style, v any) {
	t.Helper()
	got, err := style.Append([]byte("before"), v)
	if err != nil {
		t.Fatal(err)
	}
	if want := append([]byte("before"), library(t, style, v)...); !bytes.Equal(got, want) {
		t.Fatalf("%+v\nis packed as %x\nthe library's %x", v, got, want)
	}
}

// numbers are those at which the width changes.
var numbers = []int64{
	0, 1, -1, -32, -33, 127, 128, 255, 256, -128, -129, math.MaxInt16, math.MaxUint16, math.MaxUint16 + 1,
	math.MinInt16, math.MinInt16 - 1, math.MaxInt32, math.MaxUint32, math.MaxUint32 + 1, math.MinInt32, math.MinInt32 - 1,
	math.MaxInt64, math.MinInt64, 1_700_000_000_123_456,
}

var sizes = []int{0, 1, 15, 16, 31, 32, 255, 256, 1000}

// fill sets each field to something, or leaves it as it is: maps get one entry at most, because
// the library writes more of them in any order.
func fill(t *testing.T, r *rand.Rand, v reflect.Value) {
	t.Helper()
	if r.IntN(4) == 0 && v.Kind() != reflect.Struct {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("msgpack") != "-" {
				fill(t, r, v.Field(i))
			}
		}
	case reflect.String:
		v.SetString(strings.Repeat("ä", sizes[r.IntN(len(sizes))]))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(numbers[r.IntN(len(numbers))])
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(numbers[r.IntN(len(numbers))]) & (math.MaxUint64 >> (64 - v.Type().Bits())))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, r, v.Elem())
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, r, key)
		fill(t, r, value)
		v.Set(reflect.MakeMap(v.Type()))
		if r.IntN(3) > 0 {
			v.SetMapIndex(key, value)
		}
	case reflect.Slice:
		n := r.IntN(3)
		if v.Type().Elem().Kind() == reflect.Uint8 {
			n = sizes[r.IntN(len(sizes))]
		} else if r.IntN(20) == 0 {
			n = 20
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(t, r, v.Index(i))
		}
	default:
		t.Fatalf("no sample for %s", v.Type())
	}
}

// TestFactsArePackedLikeTheLibraryDoes: what is written does not depend on the writer.
func TestFactsArePackedLikeTheLibraryDoes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for _, typ := range eventlog.FactTypes() {
		same(t, pack.Named, eventlog.NewFact(typ))
		for range 200 {
			fact := eventlog.NewFact(typ)
			fill(t, r, reflect.ValueOf(fact).Elem())
			same(t, pack.Named, fact)
		}
	}
}

func TestEntitiesArePackedLikeTheLibraryDoesAndReadBack(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 1))
	for _, kind := range []projections.EntityKind{
		projections.KindWorkflow, projections.KindHandler, projections.KindRun, projections.KindEvent,
		projections.KindMutation, projections.KindInput, projections.KindSession, projections.KindScript,
	} {
		for range 200 {
			entity, again := projections.NewEntity(kind), projections.NewEntity(kind)
			fill(t, r, reflect.ValueOf(entity).Elem())
			same(t, pack.Positional, entity)
			row, err := pack.Positional.Append(nil, entity)
			if err != nil {
				t.Fatal(err)
			}
			if err := msgpack.Unmarshal(row, again); err != nil || !reflect.DeepEqual(entity, again) {
				t.Fatalf("%+v\nis read back as %+v, %v", entity, again, err)
			}
		}
	}
}

type wide struct {
	F00, F01, F02, F03, F04, F05, F06, F07, F08, F09, F10, F11, F12, F13, F14, F15, F16 int64
	Long                                                                                string `msgpack:",omitempty"`
	Hidden                                                                              string `msgpack:"-"`
	unexported                                                                          string
}

func TestLargeValuesArePackedLikeTheLibraryDoes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{math.MaxUint16, math.MaxUint16 + 1} {
		v := &struct {
			Text  string
			Bytes []byte
			List  []bool
		}{strings.Repeat("x", n), make([]byte, n), make([]bool, n)}
		for _, style := range []pack.Style{pack.Named, pack.Positional} {
			same(t, style, v)
			same(t, style, &wide{F16: 1, Hidden: "not packed", unexported: "neither"})
			same(t, style, &wide{Long: "x"})
			same(t, style, (*wide)(nil))
		}
	}
}

func TestMapsArePackedByKey(t *testing.T) {
	t.Parallel()
	want := []byte{0x91, 0x80 | 3, 0xa1, 'a', 1, 0xa1, 'b', 2, 0xa1, 'c', 3}
	for range 10 {
		got, err := pack.Positional.Append(nil, &struct{ M map[string]int }{map[string]int{"c": 3, "a": 1, "b": 2}})
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("packed as %x (%v), want %x", got, err, want)
		}
	}
}

type loop struct{ Next *loop }

// TestWhatTheLibraryWouldWriteDifferentlyIsRefused: a type that cannot be packed is an error, not
// other bytes.
func TestWhatTheLibraryWouldWriteDifferentlyIsRefused(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		&struct{ T time.Time }{}, &struct{ F float64 }{}, &struct{ A any }{}, &struct{ I int32 }{}, &struct{ U []uint32 }{},
		&struct{ time.Location }{}, &loop{}, &struct{ M map[int]string }{},
		&struct{ P *uint8 }{}, &struct{ M map[string]uint8 }{},
		&struct {
			S string `msgpack:",intern"`
		}{},
		&struct {
			H eventlog.Hash `msgpack:",omitempty"`
		}{},
		&struct {
			C eventlog.Cause `msgpack:",omitempty"`
		}{},
		&struct {
			_msgpack struct{} `msgpack:",as_array"`
			N        int
		}{},
	} {
		if b, err := pack.Named.Append(nil, v); err == nil {
			t.Errorf("%T is packed as %x", v, b)
		} else if !strings.Contains(err.Error(), "cannot be packed") {
			t.Errorf("%T: %v", v, err)
		}
	}
}

func TestAppendingAllocatesOnlyBytes(t *testing.T) {
	fact := &eventlog.RunStarted{Run: "R", Handler: "send", Phase: eventlog.PhasePreparing}
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := pack.Named.Append(buf, fact); err != nil {
			panic(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
