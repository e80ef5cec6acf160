package csv_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// A program that takes another separator than the file's must find one cell where one was written.
func TestCellsWithAnySeparatorAreQuoted(t *testing.T) {
	for comma, header := range map[string]string{",": "a,b,_pawl\n", ";": "a;b;_pawl\n", "\t": "a\tb\t_pawl\n"} {
		b := open(t, t.TempDir(), nil)
		b.write(header)
		b.append("k1", `["x;y","1,5"]`, 1)
		b.append("k2", `["x\ty","x|y"]`, 2)
		b.append("k3", `["plain","it's"]`, 3)
		line := func(cells ...string) string { return strings.Join(cells, comma) + "\n" }
		b.want(header + line(`"x;y"`, `"1,5"`, "k1") + line("\"x\ty\"", `"x|y"`, "k2") + line("plain", "it's", "k3"))
		if got := b.rows(); got[0]["a"] != "x;y" || got[0]["b"] != "1,5" || got[1]["a"] != "x\ty" ||
			got[1]["b"] != "x|y" {
			t.Errorf("rows = %q", got)
		}
	}
}

// A header is text as any cell is: what a spreadsheet would run is protected, and scripts go on calling the
// column by the name they gave it.
func TestHeaderNamesAreProtected(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	call := row("k1", `{"=1+1": "x", "'@a": "y", "a;b": "z", "plain": "p"}`)
	if out := b.r.Perform(t.Context(), call); out.Status != connector.Applied {
		t.Fatal(out.Failure)
	}
	b.append("k2", `{"=1+1": "2"}`, 2)
	call = row("k3", `["3"]`)
	call.Params = json.RawMessage(`{"file":"a.csv","values":["3"],"header":["'@a"]}`)
	if out := b.r.Perform(t.Context(), call); out.Status != connector.Applied {
		t.Fatal(out.Failure)
	}
	b.want("'=1+1,''@a,\"a;b\",plain,_pawl\nx,y,z,p,k1\n2,,,,k2\n,3,,,k3\n")
	if got := b.rows(); got[0]["=1+1"] != "x" || got[0]["'@a"] != "y" || got[0]["a;b"] != "z" || got[2]["'@a"] != "3" {
		t.Errorf("rows = %q", got)
	}
	raw, err := b.r.Read(t.Context(), connector.Call{Connector: "csv", Operation: "findRow",
		Params: json.RawMessage(`{"file":"a.csv","column":"=1+1","value":"2"}`)})
	if err != nil || !strings.HasPrefix(string(raw), `{"row":2,`) {
		t.Errorf("find = %s, %v", raw, err)
	}
	// A name cannot hold what a cell cannot.
	call = row("k4", `{"a\u0000": "x"}`)
	call.Params = json.RawMessage(`{"file":"b.csv","values":{"a\u0000": "x"}}`)
	b.refused(call, eventlog.Logic, "csv.header")
}

// A program that finds a byte order mark at the beginning of a file drops it, and what stands behind it is no less a
// formula.
func TestAByteOrderMarkHidesNoFormula(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	if out := b.r.Perform(t.Context(), row("k1", `{"\ufeff=1+1": "\ufeff@x"}`)); out.Status != connector.Applied {
		t.Fatal(out.Failure)
	}
	b.want("'\ufeff=1+1,_pawl\n'\ufeff@x,k1\n")
	if got := b.rows(); got[0]["\ufeff=1+1"] != "\ufeff@x" {
		t.Errorf("rows = %q", got)
	}
}

// A header that its owner wrote stays as it is, and its columns are called what it says.
func TestAHeaderOfItsOwnerStays(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.write("=a,+b,'c,_pawl\n")
	b.append("k1", `{"=a": "1", "+b": "2", "'c": "3"}`, 1)
	b.want("=a,+b,'c,_pawl\n1,2,3,k1\n")
}

// Rows are for their owner: no other user can read the files that are made, or the notes beside them.
// A file that is there keeps what its owner has set.
func TestFilesAreTheOwnersAlone(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.append("k1", `{"a":1}`, 1)
	b.wantModes(map[string]os.FileMode{"a.csv": 0o600, ".pawl-a.csv": 0o600})

	shared := open(t, t.TempDir(), nil)
	shared.write("a,_pawl\n")
	if err := os.Chmod(shared.path(), 0o664); err != nil {
		t.Fatal(err)
	}
	// A note that an earlier version has left.
	if err := os.WriteFile(filepath.Join(shared.dir, ".pawl-a.csv"), []byte("0 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	shared.append("k1", `{"a":1}`, 1)
	shared.wantModes(map[string]os.FileMode{"a.csv": 0o664, ".pawl-a.csv": 0o600})

	empty := open(t, t.TempDir(), nil)
	empty.write("")
	if err := os.Chmod(empty.path(), 0o640); err != nil {
		t.Fatal(err)
	}
	empty.append("k1", `{"a":1}`, 1)
	empty.wantModes(map[string]os.FileMode{"a.csv": 0o640, ".pawl-a.csv": 0o600})
}

func (b *book) wantModes(want map[string]os.FileMode) {
	b.Helper()
	entries, err := os.ReadDir(b.dir)
	if err != nil || len(entries) != len(want) {
		b.Errorf("folder = %v, %v", entries, err)
	}
	for name, mode := range want {
		if info, err := os.Stat(filepath.Join(b.dir, name)); err != nil || info.Mode() != mode {
			b.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, mode)
		}
	}
}

func (b *book) rows() []map[string]string {
	b.Helper()
	raw, err := b.r.Read(b.Context(), connector.Call{Connector: "csv", Operation: "readRows",
		Params: json.RawMessage(`{"file":"a.csv"}`)})
	var got struct{ Rows []map[string]string }
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err != nil {
		b.Fatal(err)
	}
	return got.Rows
}
