package term

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                     "plain",
		" two\nlines\t and tabs ":   "two lines and tabs",
		"\x1b]0;title\x07text":      "]0;titletext",
		"right\u202eto left\u2066x": "rightto leftx",
		"bad\xff\xfebytes":          "badbytes",
		"日本語のとても長い題名":               "日本語のとても…",
		"exactly8":                  "exactly8",
		"nine char":                 "nine ch…",
	} {
		most := 8
		if len(in) > 12 && !strings.HasPrefix(in, "日") {
			most = 40
		}
		if got := OneLine(in, most); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// Parameters are shown as they are recorded, so that a person can compare them with their hash.
func TestFieldsShowDocumentsAsTheyWereSent(t *testing.T) {
	for raw, want := range map[string]string{
		`{"z":1.0,"a":"two  spaces"}`: `{"z":1.0,"a":"two  spaces"}`,
		"[1,\n2]":                     "[1, 2]",
		"{\"a\":\"\u202e\u009b\"}":    `{"a":"\u202e\u009b"}`,
		`"plain  text"`:               "plain text",
		`null`:                        "-",
	} {
		if got := fieldText(json.RawMessage(raw)); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
	if got := documentLine(json.RawMessage(`["long"]`), 4); got != `["l…` {
		t.Errorf("got %s", got)
	}
}

// A nested value stands on the line where it fits, and is spread over lines where it does not: then with nothing in it
// that a terminal would obey, and not without end.
func TestFieldsSpreadDocuments(t *testing.T) {
	fields, err := orderedFields(json.RawMessage(
		"{\"id\":\"m-1\",\"params\":{\"to\":\"\u202eann\",\"items\":[1.0,2]},\"result\":null}"))
	if err != nil || len(fields) != 3 {
		t.Fatalf("%v, %v", fields, err)
	}
	flat := `{"to":"\u202eann","items":[1.0,2]}`
	spread := "{\n  \"to\": \"\\u202eann\",\n  \"items\": [\n    1.0,\n    2\n  ]\n}"
	for room, want := range map[int]string{0: flat, 40: flat, 20: spread} {
		if got := strings.Join(fields[1].lines(room), "\n"); got != want {
			t.Errorf("in %d characters: got\n%s\nwant\n%s", room, got, want)
		}
	}
	for _, f := range []field{fields[0], fields[2]} {
		if got := f.lines(1); len(got) != 1 || got[0] != f.text {
			t.Errorf("%s: %q", f.name, got)
		}
	}
	long := field{text: strings.Repeat("1,", 300), nested: json.RawMessage("[" + strings.Repeat("1,", 299) + "1]")}
	if got := long.lines(20); len(got) != maxSpread+1 || got[maxSpread] != "… and 102 lines more; --json shows all" {
		t.Errorf("%d lines, the last: %s", len(got), got[len(got)-1])
	}
}

func TestStyleOnlyForTerminals(t *testing.T) {
	if (Screen{}).Style(&bytes.Buffer{}) {
		t.Error("a buffer is no terminal")
	}
	if got, want := Style(true).Red("x"), "\x1b[31mx\x1b[0m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Style(false).Red("x"); got != "x" {
		t.Errorf("got %q", got)
	}
}

// stuck is a terminal that its user has stopped.
type stuck struct {
	entered chan struct{}
	release chan struct{}
	once    sync.Once
	bytes.Buffer
}

func (s *stuck) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.entered); <-s.release })
	return s.Buffer.Write(p)
}

func TestPrinterNeverBlocks(t *testing.T) {
	to := &stuck{entered: make(chan struct{}), release: make(chan struct{})}
	p := NewPrinter(to)
	p.Print("first")
	<-to.entered // it stands in Write
	for range maxWaiting + 5 {
		p.Print("more")
	}
	close(to.release)
	p.Flush()
	p.Print("last")
	p.Close()
	got := to.String()
	if !strings.HasPrefix(got, "first\nmore\n") ||
		!strings.HasSuffix(got, "(5 lines left out: the output was too slow)\nlast\n") {
		t.Errorf("got %d bytes, beginning %.20q, ending %.80q", len(got), got, got[max(0, len(got)-80):])
	}
	if n := strings.Count(got, "more\n"); n != maxWaiting {
		t.Errorf("%d lines were kept, want %d", n, maxWaiting)
	}
}

func TestPrinterSurvivesAClosedOutput(t *testing.T) {
	r, w := io.Pipe()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	p := NewPrinter(w)
	p.Print("this is not read")
	p.Flush()
	p.Close()
}

// TestSentences: each sentence stands on a line of its own, and a full stop inside of one ends nothing.
func TestSentences(t *testing.T) {
	for in, want := range map[string][]string{
		"One stands. Two follows.":         {"One stands.", "Two follows."},
		"Version 1.1 of a.ts: e.g. it is.": {"Version 1.1 of a.ts: e.g. it is."},
		"Grüße. Über alles. ":              {"Grüße.", "Über alles."},
		"":                                 {""},
	} {
		if got := (Screen{}).Sentences(in); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	many := strings.Repeat("Held for a reason. ", 400) + "The last."
	if got := (Screen{}).Sentences(many); len(got) != 401 || got[400] != "The last." {
		t.Errorf("of 401 sentences %d are shown, at last %q", len(got), got[len(got)-1])
	}
}
