//go:build unix

package csv_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// What another user has put in the place of a sheet's note is neither waited for nor written through, whether the
// note is to be written or, after a torn row, to be read.
func TestANoteThatIsNoFile(t *testing.T) {
	for name, put := range map[string]func(b *book, note string) error{
		"a pipe": func(_ *book, note string) error { return syscall.Mkfifo(note, 0o600) },
		"a link": func(_ *book, note string) error { return os.Symlink("other.csv", note) },
	} {
		for _, torn := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				b := open(t, t.TempDir(), nil)
				content := "a,b,_pawl\n1,2,k0\n"
				if torn {
					content += "3,"
				}
				b.write(content)
				other := filepath.Join(b.dir, "other.csv")
				if err := os.WriteFile(other, []byte("id,_pawl\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := put(b, filepath.Join(b.dir, ".pawl-a.csv")); err != nil {
					t.Fatal(err)
				}
				got := b.r.Perform(t.Context(), row("k1", `{"a":"x"}`))
				if got.Status != connector.Failed || got.Failure.Class != eventlog.Precondition ||
					got.Failure.Code != "csv.notRegular" {
					t.Errorf("%+v %+v", got, got.Failure)
				}
				b.want(content)
				if text, err := os.ReadFile(other); err != nil || string(text) != "id,_pawl\n" {
					t.Errorf("the other sheet is %q, %v", text, err)
				}
			})
		}
	}
}
