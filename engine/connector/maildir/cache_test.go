package maildir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector/mailparse"
)

// What is remembered of a mail counts for that very file only, and not while it may still be written.
func TestWhatAListingRemembers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.eml")
	now := time.Now()
	look := func(text string, at time.Time) os.FileInfo {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	c := newHeadCache()
	head := mailparse.Head{ID: "a", Subject: "hi"}
	known := func(info os.FileInfo) bool {
		got, ok := c.Get("a", info)
		return ok && got.Subject == head.Subject
	}
	young := look("x", now.Add(time.Hour))
	if c.put("a", young, head); known(young) {
		t.Error("a mail that may still be written is remembered")
	}
	old := look("x", now.Add(-time.Hour))
	if c.put("a", old, head); !known(old) {
		t.Error("a mail is forgotten")
	}
	for what, other := range map[string]os.FileInfo{"longer": look("xx", now.Add(-time.Hour)),
		"written later": look("x", now.Add(-time.Minute))} {
		if known(other) {
			t.Errorf("a file that is %s is taken for the one before", what)
		}
	}
	if err := os.Rename(path, path+".bak"); err != nil {
		t.Fatal(err)
	}
	if known(look("x", now.Add(-time.Hour))) {
		t.Error("another file of the same name, size and time is taken for the one before")
	}
}
