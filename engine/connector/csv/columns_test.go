package csv_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

func listed(key, header, values string) connector.Call {
	call := row(key, values)
	call.Params = json.RawMessage(`{"file":"a.csv","header":` + header + `,"values":` + values + `}`)
	return call
}

func TestListedValuesGoToTheColumnsThatTheCallNames(t *testing.T) {
	for name, c := range map[string]struct{ before, header, values, after string }{
		"reordered": {"name,amount,_pawl\n", `["amount","name"]`, `[100,"Bob"]`,
			"name,amount,_pawl\nBob,100,k1\n"},
		"column added": {"note,_pawl,name,amount\n", `["amount","name"]`, `[100,"Bob"]`,
			"note,_pawl,name,amount\n,k1,Bob,100\n"},
		"fewer than all": {"a,b,c,_pawl\n", `["b"]`, `["x"]`, "a,b,c,_pawl\n,x,,k1\n"},
		"a name twice": {"a,b,a,_pawl\n", `["a (2)","a"]`, `["second","first"]`,
			"a,b,a,_pawl\nfirst,,second,k1\n"},
		"file is made":      {"", `["amount","name"]`, `[100,"Bob"]`, "amount,name,_pawl\n100,Bob,k1\n"},
		"unfinished line":   {"b;a;_pawl\n1", `["a","b"]`, `["x","y"]`, "b;a;_pawl\n1\ny;x;k1\n"},
		"as the file stand": {"a,b,_pawl\r\n", `["a","b"]`, `["x","=y"]`, "a,b,_pawl\r\nx,'=y,k1\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, t.TempDir(), nil)
			b.write(c.before)
			if out := b.r.Perform(t.Context(), listed("k1", c.header, c.values)); out.Status != connector.Applied {
				t.Fatal(out.Failure)
			}
			b.want(c.after)
			b.reconcile(listed("k1", c.header, c.values), connector.VerdictApplied)
			b.want(c.after)
		})
	}
}

func TestListedValuesThatFitNoColumnAreRefusedBeforeAnythingIsWritten(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	const before = "a,b,_pawl\n"
	b.write(before)
	for _, c := range []struct{ header, values, code, says string }{
		{`["a","c"]`, `["1","2"]`, "csv.column", `no column "c"`},
		{`["a","_pawl"]`, `["1","2"]`, "csv.column", `"_pawl"`},
		{`["a","a"]`, `["1","2"]`, "csv.header", `"a" twice`},
		{`["a","b"]`, `["1","2","3"]`, "csv.columns", "3 cells for 2 columns"},
		{`["a","b"]`, `["1"]`, "csv.columns", "1 cells for 2 columns"},
		{`null`, `["1","2","3"]`, "csv.columns", "3 cells for 2 columns"},
	} {
		call := listed("k1", c.header, c.values)
		if c.header == "null" {
			call = row("k1", c.values)
		}
		b.refused(call, eventlog.Logic, c.code)
		if out := b.r.Perform(t.Context(), call); out.Failure == nil || !strings.Contains(out.Failure.Message, c.says) {
			t.Errorf("%s %s: %v does not say %s", c.header, c.values, out.Failure, c.says)
		}
		b.reconcile(call, connector.VerdictFailed)
	}
	b.want(before)
	if err := os.Remove(b.path()); err != nil {
		t.Fatal(err)
	}
	b.refused(listed("k1", `["a","b"]`, `["1"]`), eventlog.Logic, "csv.columns")
	if entries, err := os.ReadDir(b.dir); err != nil || len(entries) != 0 {
		t.Errorf("a refused call left %v, %v", entries, err)
	}
}

// A torn row is recognised by what would have been written, in the columns where it would have been.
func TestATornRowOfListedValuesIsCutOff(t *testing.T) {
	const before, last = "name,amount,_pawl\n", "Bob,100,k1\n"
	for cut := 1; cut < len(last); cut++ {
		b := open(t, t.TempDir(), nil)
		b.write(before + last[:cut])
		b.reconcile(listed("k1", `["amount","name"]`, `[100,"Bob"]`), connector.VerdictFailed)
		b.want(before)
	}
}

func TestReadsLoseNothing(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	read := func(operation, params string) string {
		t.Helper()
		raw, err := b.r.Read(t.Context(), connector.Call{Connector: "csv", Operation: operation,
			Params: json.RawMessage(params)})
		var f *eventlog.Failure
		if errors.As(err, &f) {
			return string(f.Class) + " " + f.Code + " " + f.Message
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for name, c := range map[string]struct{ file, want string }{
		"Latin-1 row":    {"a,b\n1,2\nM\xfcller,3\n", "precondition csv.encoding row 2 of a.csv is not UTF-8"},
		"Latin-1 header": {"Gr\xf6\xdfe,b\n", "precondition csv.encoding the header of a.csv is not UTF-8"},
		"UTF-16":         {"\xff\xfea\x00,\x00b\x00\n\x00", "precondition csv.encoding the header of a.csv"},
		"surplus cells": {"a,b\n1,2\n2,3,4\n",
			"precondition csv.surplus row 2 of a.csv has 3 cells, the header has 2 columns"},
		"beside the key": {"a,_pawl\n1,k1,note\n", "precondition csv.surplus row 1 of a.csv has 3 cells"},
		"empty surplus":  {"a,b\n1,2,, \n", `{"columns":["a","b"],"rows":[{"a":"1","b":"2"}],"next":null}`},
		"same names": {"a,b,a,a (2),a,_pawl\n1,2,3,4,5,k\n",
			`{"columns":["a","b","a (3)","a (2)","a (4)"],"rows":[{"a":"1","a (2)":"4","a (3)":"3","a ` +
				`(4)":"5","b":"2"}],"next":null}`},
		"no names": {"a,,\n1,2,3\n", `{"columns":["a","","(2)"],"rows":[{"":"2","(2)":"3","a":"1"}],"next":null}`},
	} {
		b.write(c.file)
		if got := read("readRows", `{"file":"a.csv"}`); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	b.write("a,b,a\n1,2,3\n\xe4,5,6\n")
	if got := read("findRow", `{"file":"a.csv","column":"a (2)","value":3}`); got != `{"row":1,"values":{"a":"1","a `+
		`(2)":"3","b":"2"}}` {
		t.Errorf("by the second of two names: %s", got)
	}
	if got := read("findRow", `{"file":"a.csv","column":"a","value":"9"}`); !strings.HasPrefix(got,
		"precondition csv.encoding row 2") {
		t.Errorf("a row that cannot be compared: %s", got)
	}
}

// A spreadsheet may export thousands of columns without a name: numbering them must stay quick.
func TestManyColumnsOfOneName(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	const columns = 16_384 // as many as a spreadsheet may have
	if err := os.WriteFile(filepath.Join(b.dir, "a.csv"), []byte("_pawl"+strings.Repeat(",", columns)+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	b.append("k1", fmt.Sprintf(`{"":"first","(%d)":"last"}`, columns), 1)
	b.want("_pawl" + strings.Repeat(",", columns) + "\nk1,first" + strings.Repeat(",", columns-1) + "last\n")
}
