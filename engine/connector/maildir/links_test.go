package maildir_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/maildir"
)

// A link where a mail could lie is left out, and an operator is told once which; other things that are
// no mails are no mistake and are not reported.
func TestLinksAreLeftOutAndNamedOnce(t *testing.T) {
	for name, c := range map[string]struct{ mail, link, quiet string }{
		"maildir":    {"new/1.a.h", "new/2.b.h", "new/.hidden"},
		"eml folder": {"a.eml", "b.eml", "notes.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var log bytes.Buffer
			m, err := maildir.New(maildir.Config{Root: dir, Parser: parser,
				Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { m.Close() })
			r, err := connector.NewRegistry(m)
			if err != nil {
				t.Fatal(err)
			}
			b := &box{t, dir, r}
			b.put(c.mail, simple)
			outside := filepath.Join(t.TempDir(), "mail")
			if err := os.WriteFile(outside, []byte(simple), 0o600); err != nil {
				t.Fatal(err)
			}
			link := filepath.Join(dir, c.link)
			if err := errors.Join(os.Symlink(outside, link),
				os.Symlink(outside, filepath.Join(dir, c.quiet))); err != nil {
				t.Skip(err)
			}
			for range 2 {
				if mails, ids, _ := b.list(`{}`); len(mails) != 1 {
					t.Errorf("listed %q, want the one file", ids)
				}
			}
			lines := slices.Collect(strings.Lines(log.String()))
			// A system that confines less says so too.
			lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, "link") })
			if len(lines) != 1 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0],
				"path="+link) {
				t.Errorf("the log says %q, want one warning that names %s", lines, link)
			}
		})
	}
}
