package csv_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/csv"
	"github.com/pawl-run/pawl/eventlog"
)

// book is a csv connector on a folder of its own.
type book struct {
	*testing.T
	dir string
	csv *csv.Connector
	r   *connector.Registry
}

func open(t *testing.T, dir string, before func(context.Context)) *book {
	t.Helper()
	c, err := csv.New(csv.Config{Root: dir, Places: places, BeforeAppend: before})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	r, err := connector.NewRegistry(c)
	if err != nil {
		t.Fatal(err)
	}
	return &book{t, dir, c, r}
}

func (b *book) path() string { return filepath.Join(b.dir, "a.csv") }

func (b *book) write(text string) {
	b.Helper()
	if err := os.WriteFile(b.path(), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *book) want(text string) {
	b.Helper()
	got, err := os.ReadFile(b.path())
	if err != nil || string(got) != text {
		b.Errorf("file = %q, %v, want %q", got, err, text)
	}
}

func row(key, values string) connector.Call {
	return connector.Call{
		Workflow: "w", Run: "r", Connector: "csv", Operation: "appendRow", Key: key,
		Params: json.RawMessage(`{"file":"a.csv","values":` + values + `}`), Deadline: time.Now().Add(time.Minute),
	}
}

func (b *book) append(key, values string, want int) {
	b.Helper()
	out := b.r.Perform(b.Context(), row(key, values))
	if out.Status != connector.Applied || string(out.Result) != fmt.Sprintf(`{"row":%d}`, want) {
		b.Fatalf("append = %v %s %v, want row %d", out.Status, out.Result, out.Failure, want)
	}
}

func (b *book) refused(call connector.Call, class eventlog.Class, code string) {
	b.Helper()
	out := b.r.Perform(b.Context(), call)
	if out.Status != connector.Failed || out.Failure.Class != class || out.Failure.Code != code {
		b.Errorf("append = %v %v %+v, want Failed %s %s", out.Status, string(out.Result), out.Failure, class, code)
	}
}

func (b *book) reconcile(call connector.Call, want connector.Verdict) connector.Reconciliation {
	b.Helper()
	got := b.r.Reconcile(b.Context(), call)
	if got.Verdict != want {
		b.Fatalf("reconcile = %v %s %v, want %v", got.Verdict, got.Result, got.Failure, want)
	}
	return got
}

func TestAppendCreatesTheFileWithTheKeyLast(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.append("k1", `{"from":"Ann","amount":12.50}`, 1)
	b.append("k2", `{"amount":-5}`, 2)
	b.append("k3", `["x",true]`, 3)
	b.want("from,amount,_pawl\nAnn,12.50,k1\n,-5,k2\nx,true,k3\n")
}

func TestAppendCreatesTheFileWithTheGivenHeader(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	call := row("k1", `["Ann",1]`)
	b.refused(call, eventlog.Precondition, "csv.missing")
	call.Params = json.RawMessage(`{"file":"a.csv","values":["Ann",1],"header":["from","a,b"]}`)
	if out := b.r.Perform(t.Context(), call); out.Status != connector.Applied {
		t.Fatal(out.Failure)
	}
	b.want("from,\"a,b\",_pawl\nAnn,1,k1\n")
	entries, err := os.ReadDir(b.dir)
	if err != nil || len(entries) != 2 { // the file and its note
		t.Errorf("folder = %v, %v", entries, err)
	}
}

func TestAnEmptyFileIsGivenAHeader(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.write("")
	b.append("k1", `{"a":1}`, 1)
	b.want("a,_pawl\n1,k1\n")
}

func TestTheSameKeyAgainWritesNothing(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.append("k1", `{"a":1}`, 1)
	b.append("k2", `{"a":2}`, 2)
	b.append("k1", `{"a":1}`, 1)
	open(t, b.dir, nil).append("k1", `{"a":3}`, 1) // another process
	b.want("a,_pawl\n1,k1\n2,k2\n")
}

func TestFormulasStayText(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.write("a,_pawl\n")
	cells := []string{"=1+1", "+49 30 1", "-5", "@SUM(A1)", "\tx", "\rx", "'=1", "''=1", "＝1", "-", "'", "it's", "a=b",
		" x", "", "\"", "a\nb", "x,y", "ä"}
	for i, cell := range cells {
		encoded, err := json.Marshal(map[string]string{"a": cell})
		if err != nil {
			t.Fatal(err)
		}
		b.append(fmt.Sprint("k", i), string(encoded), i+1)
	}
	text, err := os.ReadFile(b.path())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n'=1+1,", "\n'+49 30 1,", "\n'-5,", "\n'@SUM(A1),", "\n\"'\tx\",", "\n\"'\rx\",",
		"\n''=1,", "\n'''=1,", "\n'＝1,", "\nit's,"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the file has no %q:\n%s", want, text)
		}
	}
	raw, err := b.r.Read(t.Context(), connector.Call{Connector: "csv", Operation: "readRows",
		Params: json.RawMessage(`{"file":"a.csv"}`)})
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Rows []map[string]string }
	if err := json.Unmarshal(raw, &got); err != nil || len(got.Rows) != len(cells) {
		t.Fatalf("rows = %s, %v", raw, err)
	}
	for i, cell := range cells {
		if got.Rows[i]["a"] != cell {
			t.Errorf("row %d reads %q, was written as %q", i+1, got.Rows[i]["a"], cell)
		}
	}
}

func TestTheFileStaysItsOwners(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"reordered":          {"_pawl,b,a\nk0,2,1\n", "_pawl,b,a\nk0,2,1\nk9,y,x\n"},
		"key in the middle":  {"b,_pawl,a\n", "b,_pawl,a\ny,k9,x\n"},
		"more columns":       {"a,c,b,_pawl\n", "a,c,b,_pawl\nx,,y,k9\n"},
		"semicolons":         {"a;b;_pawl\n", "a;b;_pawl\nx;y;k9\n"},
		"tabs":               {"a\tb\t_pawl\n", "a\tb\t_pawl\nx\ty\tk9\n"},
		"CRLF":               {"a,b,_pawl\r\n1,2,k0\r\n", "a,b,_pawl\r\n1,2,k0\r\nx,y,k9\r\n"},
		"byte order mark":    {"\ufeffa,b,_pawl\n", "\ufeffa,b,_pawl\nx,y,k9\n"},
		"no last line end":   {"a,b,_pawl\n1,2,", "a,b,_pawl\n1,2,\nx,y,k9\n"},
		"only a header":      {"a,b,_pawl", "a,b,_pawl\nx,y,k9\n"},
		"open quote":         {"a,b,_pawl\n1,\"2", "a,b,_pawl\n1,\"2\"\nx,y,k9\n"},
		"line break in cell": {"a,b,_pawl\n\"1\n2\",3,k0\n", "a,b,_pawl\n\"1\n2\",3,k0\nx,y,k9\n"},
		"quoted header":      {"\"a\",\"b\",\"_pawl\"\n", "\"a\",\"b\",\"_pawl\"\nx,y,k9\n"},
		"empty lines":        {"a,b,_pawl\n\n1,2,k0\n\n", "a,b,_pawl\n\n1,2,k0\n\nx,y,k9\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, t.TempDir(), nil)
			b.write(c.before)
			if out := b.r.Perform(t.Context(), row("k9", `{"a":"x","b":"y"}`)); out.Status != connector.Applied {
				t.Fatal(out.Failure)
			}
			b.want(c.after)
			b.reconcile(row("k9", `{"a":"x","b":"y"}`), connector.VerdictApplied)
			b.want(c.after)
		})
	}
}

func TestListedValuesFollowTheHeaderWithoutTheKey(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.write("b,_pawl,a,a\n")
	b.append("k1", `["1","2","3"]`, 1)
	b.want("b,_pawl,a,a\n1,k1,2,3\n")
	b.refused(row("k2", `["1","2"]`), eventlog.Logic, "csv.columns")
}

func TestRefusals(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.write("a,b\n1,2\n")
	b.refused(row("k", `{"a":1}`), eventlog.Precondition, "csv.keyColumn")
	b.write("a,_pawl\n")
	b.refused(row("k", `{"c":1}`), eventlog.Logic, "csv.column")
	b.refused(row("k", `{"_pawl":"mine"}`), eventlog.Logic, "csv.column")
	b.refused(row("k", `{"a":[1]}`), eventlog.Logic, "call.params")
	b.refused(row("k", `{"a":"\u0000"}`), eventlog.Logic, "csv.cell")
	b.want("a,_pawl\n")

	outside := filepath.Join(t.TempDir(), "out.csv")
	if err := os.WriteFile(outside, []byte("a,_pawl\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(b.dir, "link.csv")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(b.dir, "folder")); err != nil {
		t.Fatal(err)
	}
	for file, class := range map[string]eventlog.Class{
		"../out.csv": eventlog.Logic, outside: eventlog.Logic, "x/../../out.csv": eventlog.Logic,
		"link.csv": eventlog.Precondition, "folder/out.csv": eventlog.Precondition,
		"folder/new.csv": eventlog.Precondition,
	} {
		call := row("k", `{"a":1}`)
		call.Params = json.RawMessage(fmt.Sprintf(`{"file":%q,"values":{"a":1}}`, file))
		b.refused(call, class, "csv.outside")
	}
	if text, _ := os.ReadFile(outside); string(text) != "a,_pawl\n" {
		t.Errorf("the file outside was changed: %q", text)
	}
	late := row("k", `{"a":1}`)
	late.Deadline = time.Now().Add(-time.Second)
	if out := b.csv.Perform(t.Context(), late); out.Status != connector.Failed || out.Failure.Code != "call.deadline" {
		t.Errorf("after the deadline: %+v", out)
	}
	b.want("a,_pawl\n")
}

func TestNothingIsWrittenOnceTheCallIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := open(t, t.TempDir(), func(context.Context) { cancel() })
	b.write("a,_pawl\n")
	if out := b.csv.Perform(ctx, row("k", `{"a":1}`)); out.Status != connector.Failed {
		t.Errorf("outcome = %+v", out)
	}
	b.want("a,_pawl\n")
}

func TestConcurrentAppends(t *testing.T) {
	dir := t.TempDir()
	books := []*book{open(t, dir, nil), open(t, dir, nil)} // as two processes
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() {
			// Every key twice, from both.
			key := fmt.Sprint("k", i/2)
			if out := books[i%2].r.Perform(t.Context(),
				row(key, fmt.Sprintf(`{"a":%d}`, i/2))); out.Status != connector.Applied {
				t.Errorf("%s: %v", key, out.Failure)
			}
		})
	}
	calls.Wait()
	wantRows(t, books[0].path(), 20)
}

// wantRows checks that every key stands in the file once.
func wantRows(t *testing.T, path string, want int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	seen := make(map[string]bool)
	for _, line := range lines[1:] {
		value, key, _ := strings.Cut(line, ",")
		if key != "k"+value || seen[key] {
			t.Errorf("row %q is torn or repeated", line)
		}
		seen[key] = true
	}
	if len(seen) != want {
		t.Errorf("%d rows, want %d", len(seen), want)
	}
}

const childDir = "PAWL_TEST_CSV_DIR"

// TestTwoProcesses runs this test binary as the other process.
func TestTwoProcesses(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		b := open(t, dir, nil)
		for i := range 30 {
			b.r.Perform(t.Context(), row(fmt.Sprint("k", i), fmt.Sprintf(`{"a":%d}`, i)))
		}
		return
	}
	dir := t.TempDir()
	var children sync.WaitGroup
	for range 2 {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTwoProcesses$")
		child.Env = append(os.Environ(), childDir+"="+dir)
		children.Go(func() {
			if out, err := child.CombinedOutput(); err != nil {
				t.Errorf("child: %v\n%s", err, out)
			}
		})
	}
	children.Wait()
	wantRows(t, filepath.Join(dir, "a.csv"), 30)
}

func TestAFileReplacedByItsOwnerIsReadAgain(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.append("k1", `{"a":1}`, 1)
	other := filepath.Join(b.dir, "other.csv")
	if err := os.WriteFile(other, []byte("a,_pawl\n5,k5\n1,k1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, b.path()); err != nil {
		t.Fatal(err)
	}
	b.append("k5", `{"a":9}`, 1)
	b.append("k1", `{"a":9}`, 2)
	b.append("k6", `{"a":6}`, 3)
	b.want("a,_pawl\n5,k5\n1,k1\n6,k6\n")
}

func TestReads(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.write("id,name,_pawl\n1,Ann,k1\n2,\"B, \"\"b\"\"\",\n\n3\n")
	read := func(operation, params string) string {
		t.Helper()
		raw, err := b.r.Read(t.Context(), connector.Call{Connector: "csv", Operation: operation,
			Params: json.RawMessage(params)})
		if err != nil {
			var f *eventlog.Failure
			if !errors.As(err, &f) {
				t.Fatal(err)
			}
			return string(f.Class) + " " + f.Code
		}
		return string(raw)
	}
	for _, c := range []struct{ operation, params, want string }{
		{"readRows", `{"file":"a.csv"}`,
			`{"columns":["id","name"],"rows":[{"id":"1","name":"Ann"},{"id":"2","name":"B, ` +
				`\"b\""},{"id":"3","name":""}],"next":null}`},
		{"readRows", `{"file":"a.csv","limit":1}`,
			`{"columns":["id","name"],"rows":[{"id":"1","name":"Ann"}],"next":1}`},
		{"readRows", `{"file":"a.csv","after":2,"limit":1}`,
			`{"columns":["id","name"],"rows":[{"id":"3","name":""}],"next":null}`},
		{"readRows", `{"file":"gone.csv"}`, `precondition csv.missing`},
		{"readRows", `{"file":"../a.csv"}`, `logic csv.outside`},
		{"findRow", `{"file":"a.csv","column":"id","value":2}`, `{"row":2,"values":{"id":"2","name":"B, \"b\""}}`},
		{"findRow", `{"file":"a.csv","column":"id","value":"9"}`, `null`},
		{"findRow", `{"file":"a.csv","column":"_pawl","value":"k1"}`, `logic csv.column`},
	} {
		if got := read(c.operation, c.params); got != c.want {
			t.Errorf("%s %s = %s, want %s", c.operation, c.params, got, c.want)
		}
	}
	b.append("k4", `{"id":"4"}`, 4)
	info, err := os.Stat(b.path())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(b.path(), info.Size()-2); err != nil {
		t.Fatal(err)
	}
	if got := read("findRow", `{"file":"a.csv","column":"id","value":"4"}`); got != "null" {
		t.Errorf("a torn row was read: %s", got)
	}
}

func TestRootMustExist(t *testing.T) {
	for _, root := range []string{"", filepath.Join(t.TempDir(), "gone")} {
		if _, err := csv.New(csv.Config{Root: root}); err == nil || !strings.Contains(err.Error(),
			"connectors.csv.root") {
			t.Errorf("root %q: error %v", root, err)
		}
	}
}

func BenchmarkAppendToABigFile(b *testing.B) {
	dir := b.TempDir()
	var text strings.Builder
	text.WriteString("a,_pawl\n")
	for i := range 200_000 {
		fmt.Fprintf(&text, "some text,old%d\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.csv"), []byte(text.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	c, err := csv.New(csv.Config{Root: dir})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	c.Perform(b.Context(), row("first", `{"a":1}`))
	i := 0
	for b.Loop() {
		i++
		if out := c.Perform(b.Context(), row(fmt.Sprint("k", i), `{"a":1}`)); out.Status != connector.Applied {
			b.Fatal(out.Failure)
		}
	}
}
