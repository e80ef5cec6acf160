package term

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

var listed = []Column{
	{Title: "run", Field: "id"}, {Title: "handler", Field: "handler", Spare: 2},
	{Title: "phase", Field: "phase", Spare: 3}, {Title: "error", Field: "error.message", Whole: true},
}

const (
	longID    = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	longCause = "cannot append a row to the sheet of north: permission denied: the folder belongs " +
		"to another user of this machine"
)

func rowsOf(cells ...[]string) [][]string { return cells }

// A table is never wider than its terminal: what can best be spared is cut and then left out, an id never, and
// the cause of an error is told whole, below its line where it does not fit beside it.
func TestTableFitsTheTerminal(t *testing.T) {
	rows := rowsOf([]string{longID, "a-handler-with-a-name", "executing", longCause},
		[]string{longID, "short", "done", None})
	for _, test := range []struct {
		width int
		want  string
	}{
		{200, "" +
			" run                         handler                phase      error\n" +
			" " + longID + "  a-handler-with-a-name  executing  " + longCause + "\n" +
			" " + longID + "  short                  done       -\n"},
		{61, "" +
			" run                         handler                phase\n" +
			" " + longID + "  a-handler-with-a-name  executi…\n" +
			"    cannot append a row to the sheet of north: permission\n" +
			"    denied: the folder belongs to another user of this\n" +
			"    machine\n" +
			" " + longID + "  short                  done\n"},
		{40, "" +
			" run                         handler\n" +
			" " + longID + "  a-handler…\n" +
			"    cannot append a row to the sheet of\n" +
			"    north: permission denied: the folder\n" +
			"    belongs to another user of this\n" +
			"    machine\n" +
			" " + longID + "  short\n"},
		{30, "" +
			" run\n" +
			" " + longID + "\n" +
			"    cannot append a row to the\n" +
			"    sheet of north: permission\n" +
			"    denied: the folder belongs\n" +
			"    to another user of this\n" +
			"    machine\n" +
			" " + longID + "\n"},
	} {
		var out bytes.Buffer
		fit(&out, false, test.width, listed, rows)
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > test.width {
				t.Errorf("at %d: a line of %d: %s", test.width, n, line)
			}
		}
		if out.String() != test.want {
			t.Errorf("at %d: got\n%s\nwant\n%s", test.width, out.String(), test.want)
		}
	}
}

// Without a terminal a list is fields with tabs between them, whole, and one without items is nothing at all.
// Where a table does not fit, a column that says nothing goes first, and a time is shown as a whole or not at all.
func TestTableLeavesOutWhatSaysNothing(t *testing.T) {
	columns := []Column{{Title: "id", Field: "id"}, {Title: "held", Field: "held"},
		{Title: "title", Field: "title", Spare: 1}, {Title: "at", Field: "at", Uncut: true, Spare: 2}}
	rows := rowsOf([]string{"m-1", None, "Order of Ann", "2026-10-26 08:00:00"})
	for width, want := range map[int]string{
		60: " id   held  title         at\n m-1  -     Order of Ann  2026-10-26 08:00:00\n",
		41: " id   title         at\n m-1  Order of Ann  2026-10-26 08:00:00\n",
		37: " id   title      at\n m-1  Order of…  2026-10-26 08:00:00\n",
		30: " id   title\n m-1  Order of Ann\n",
	} {
		var out bytes.Buffer
		if fit(&out, false, width, columns, rows); out.String() != want {
			t.Errorf("at %d: got\n%s\nwant\n%s", width, out.String(), want)
		}
	}
}

func TestTableForPrograms(t *testing.T) {
	var out, err bytes.Buffer
	s := Screen{Out: &out, Err: &err}
	s.Table(Page{}, listed, "")
	if out.Len()+err.Len() > 0 {
		t.Errorf("of nothing: %q, and beside it %q", out.String(), err.String())
	}
	s.Table(Page{}, listed, "no token; the engine's own is in its file")
	if out.Len() > 0 || err.String() != "no token; the engine's own is in its file\n" {
		t.Errorf("of nothing: %q, and beside it %q", out.String(), err.String())
	}
	err.Reset()
	var p Page
	cause := strings.Repeat("because ", 100) + "of this"
	page := `{"items": [{"id": "2", "error": {"message": "` + cause + `"}}, {"id": "1"}], "next": "c3"}`
	if e := json.Unmarshal([]byte(page), &p); e != nil {
		t.Fatal(e)
	}
	s.Table(p, listed, "")
	if want := "1\t-\t-\t-\n2\t-\t-\t" + cause + "\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if want := "there are older ones: --after c3, or --limit N\n"; err.String() != want {
		t.Errorf("beside it %q, want %q", err.String(), want)
	}
}

// The width is what COLUMNS says, and 80 where nothing is known.
func TestWidth(t *testing.T) {
	file, err := os.Open(os.DevNull) // a file that is no terminal
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for columns, want := range map[string]int{"132": 132, "": 80, "0": 80, "-5": 80, "wide": 80} {
		s := Screen{Out: NewOutput(file), Env: func(name string) (string, bool) { return columns, name == "COLUMNS" }}
		if got := s.width(); got != want {
			t.Errorf("COLUMNS=%q: %d, want %d", columns, got, want)
		}
	}
}

// Rows that come one by one fit the terminal as a table does. What the last column tells is never cut.
func TestRowsFitTheTerminal(t *testing.T) {
	columns := []Column{{Title: "position"}, {Title: "time", Uncut: true, Spare: 2}, {Title: "workflow", Spare: 1},
		{Title: "by", Spare: 3}, {Title: "facts", Whole: true}}
	rows := [][]string{
		{"0:9", "2026-10-26 08:00:00", "book-orders 9", "pawl", "run.committed event.consumed session.ended"},
		{"0:10", "2026-10-26 08:00:01", "book-orders 10", "ann of the desk (user)", "workflow.paused"},
		{"0:11", "2026-10-26 08:00:02", "book-orders 11", "pawl", "workflow.resumed"},
	}
	for width, want := range map[int]string{
		130: "" +
			" 0:9  2026-10-26 08:00:00  book-orders 9  pawl  run.committed event.consumed session.ended\n" +
			" 0:10  2026-10-26 08:00:01  book-orders 10  ann of the desk (user)  workflow.paused\n" +
			" 0:11  2026-10-26 08:00:02  book-orders 11  pawl                    workflow.resumed\n",
		82: "" +
			" 0:9  2026-10-26 08:00:00  book-orders 9  pawl  run.committed event.consumed\n" +
			"                                                session.ended\n" +
			" 0:10  2026-10-26 08:00:01  book-orders 10  ann of the…  workflow.paused\n" +
			" 0:11  2026-10-26 08:00:02  book-orders 11  pawl         workflow.resumed\n",
		45: "" +
			" 0:9  book-orders…  run.committed\n" +
			"                    event.consumed\n" +
			"                    session.ended\n" +
			" 0:10  book-order…  workflow.paused\n" +
			" 0:11  book-order…  workflow.resumed\n",
	} {
		var out strings.Builder
		r := Screen{Out: &out}.Rows(columns...)
		for _, cells := range rows {
			line := r.fit(cells, width)
			for part := range strings.SplitSeq(line, "\n") {
				if n := utf8.RuneCountInString(part); n > width {
					t.Errorf("at %d: a line of %d: %s", width, n, part)
				}
			}
			out.WriteString(line + "\n")
		}
		if out.String() != want {
			t.Errorf("at %d: got\n%s\nwant\n%s", width, out.String(), want)
		}
	}
	var out bytes.Buffer
	r := Screen{Out: &out}.Rows(columns...)
	if err := r.Print(rows[0]...); err != nil || out.String() != strings.Join(rows[0], "\t")+"\n" {
		t.Errorf("for programs: %q, %v", out.String(), err)
	}
}

// A number from outside that no float64 holds is shown as it is written, and the rest of the list is shown too.
func TestAPageKeepsNumbersAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	var p Page
	if err := json.Unmarshal([]byte(`{"items":[{"a":1e999,"n":3}],"next":null}`), &p); err != nil {
		t.Fatal(err)
	}
	if a, n := Plain(p.Items[0]["a"]), Int(p.Items[0]["n"]); a != "1e999" || n != 3 {
		t.Errorf("shown as %s and %d", a, n)
	}
}
