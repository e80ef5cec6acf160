package csv_test

import (
	"os"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// A row in UTF-8 beside text that is not would be a file that no program reads right: the append is
// refused before anything is written, and says what to do.
func TestNoRowIsAppendedToAnotherEncoding(t *testing.T) {
	for name, c := range map[string]struct{ file, where string }{
		"Latin-1 row":             {"a,_pawl\nM\xfcller,\n2,\n", "row 1"},
		"Latin-1 row at the end":  {"a,_pawl\n1,k0\nM\xfcller", "row 2"},
		"Latin-1 header":          {"a,Gr\xf6\xdfe,_pawl\n", "the header"},
		"Latin-1, semicolons":     {"a;_pawl\r\n1;\r\n2\xb0;\r\n", "row 2"},
		"UTF-16":                  {"\xff\xfea\x00,\x00_\x00p\x00a\x00w\x00l\x00\n\x00", "the header"},
		"Latin-1, no key column":  {"Gr\xf6\xdfe,b\n", "the header"},
		"a character cut in half": {"a,_pawl\n1,k0\n\xc3", "row 2"},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, t.TempDir(), nil)
			b.write(c.file)
			out := b.r.Perform(t.Context(), row("k1", `{"a":"ü"}`))
			if out.Status != connector.Failed || out.Failure.Class != eventlog.Precondition ||
				out.Failure.Code != "csv.encoding" {
				t.Fatalf("append = %v %+v, want Failed precondition csv.encoding", out.Status, out.Failure)
			}
			if want := c.where + " of a.csv is not UTF-8 text: save the file as " +
				"CSV in UTF-8"; out.Failure.Message != want {
				t.Errorf("it says %q, want %q", out.Failure.Message, want)
			}
			b.want(c.file)
			if entries, err := os.ReadDir(b.dir); err != nil || len(entries) != 1 {
				t.Errorf("beside the file stands more: %v %v", entries, err)
			}
			// Saved as it says, the file takes the row.
			b.write("a,_pawl\nMüller,k0\n")
			b.append("k1", `{"a":"ü"}`, 2)
		})
	}
}

// Half a character of a row that was torn is no other encoding: it is cut off.
func TestATornCharacterIsCutOff(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.append("k0", `{"a":"1"}`, 1)
	before := "a,_pawl\n1,k0\n"
	b.append("k1", `{"a":"ü"}`, 2)
	if err := os.Truncate(b.path(), int64(len(before)+1)); err != nil {
		t.Fatal(err)
	}
	b.append("k2", `{"a":"2"}`, 2)
	b.want(before + "2,k2\n")
}

// A row that was written stays the answer, whatever the file was saved as afterwards; where it cannot
// be looked for, the connector does not claim that it is missing.
func TestReconcileOfAnotherEncoding(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.write("a,_pawl\nM\xfcller,\nx,k1\n")
	b.append("k1", `{"a":"x"}`, 2)
	b.reconcile(row("k1", `{"a":"x"}`), connector.VerdictApplied)
	b.reconcile(row("k2", `{"a":"y"}`), connector.VerdictFailed)
	b.write("\xff\xfea\x00,\x00_\x00p\x00a\x00w\x00l\x00\n\x00x\x00,\x00k\x001\x00\n\x00")
	got := b.reconcile(row("k1", `{"a":"x"}`), connector.VerdictRetry)
	if got.Failure == nil || !strings.Contains(got.Failure.Message, "save the file as CSV in UTF-8") {
		t.Errorf("it says %+v", got.Failure)
	}
}
