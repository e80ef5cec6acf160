package eventlog

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

func upcastPath(t FactType, version int) string {
	return filepath.Join("testdata", "upcast", filepath.Base(goldenPath(t, version)))
}

// TestRetired: what stands in a log under a retired name is read as the fact that replaced it. Its golden
// file says what an older version stored; the file in testdata/upcast says how that is read since.
func TestRetired(t *testing.T) {
	for _, old := range slices.Sorted(maps.Keys(retired)) {
		t.Run(string(old), func(t *testing.T) {
			r := retired[old]
			if _, used := facts[old]; used {
				t.Fatal("a retired name is written again")
			}
			if entry, ok := facts[r.successor]; !ok || r.since < 1 || r.since > entry.version {
				t.Fatalf("there is no version %d of %s", r.since, r.successor)
			}
			before := readGolden(t, goldenPath(old, r.version))
			stored := storedBytes(t, before)
			path := upcastPath(old, r.version)
			if _, err := os.Stat(path); err != nil && *update {
				writeGoldenFile(t, path, stored)
			}
			if got := checkGolden(t, path); !bytes.Equal(got, stored) {
				t.Errorf("%s is not about the stored bytes of %s", path, goldenPath(old, r.version))
			}
			got, err := Decode(stored)
			if err != nil {
				t.Fatal(err)
			}
			if want := sample(t, r.successor); !reflect.DeepEqual(got, want) {
				t.Errorf("decoded %+v\nwant    %+v", got.Facts[0], want.Facts[0])
			}
		})
	}
}

// TestRetired_OtherVersion: a version that was never written under a retired name is not guessed at.
func TestRetired_OtherVersion(t *testing.T) {
	for old, r := range retired {
		for _, version := range []int{0, r.version + 1} {
			stored := changed(t, func(w *wire) { w.Facts[0].Type, w.Facts[0].Version = old, version })
			if _, err := Decode(stored); !errors.Is(err, ErrUnreadable) {
				t.Errorf("%s version %d: %v, want ErrUnreadable", old, version, err)
			}
		}
	}
}

func TestPresentName(t *testing.T) {
	for name, want := range map[FactType]FactType{
		"event.updated":      "event.republished",
		"handler.wake_set":   "handler.wake_requested",
		"workflow.retry_set": "workflow.retry_owed",
		"run.committed":      "run.committed",
		"run.imagined":       "run.imagined",
	} {
		if got := PresentName(name); got != want {
			t.Errorf("%s is now %s, want %s", name, got, want)
		}
	}
}
