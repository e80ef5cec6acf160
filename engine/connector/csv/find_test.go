package csv_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/csv"
)

// find is a call of findRow.
func find(column, value string) connector.Call {
	params, _ := json.Marshal(map[string]string{"file": "a.csv", "column": column, "value": value})
	return connector.Call{Workflow: "w", Run: "r", Connector: "csv", Operation: "findRow", Params: params,
		Deadline: time.Now().Add(time.Minute)}
}

// A cell is found by its text, however it is written in the file.
func TestFindRowGoesByTheTextOfACell(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), nil)
	b.write("a,b,b\n" +
		"1,x,\"with, comma\"\n" +
		"2,\"say \"\"hi\"\"\",\n" +
		"3,\"a\"b\n" +
		"4,'=SUM(1),'plain\n" +
		"5\n" +
		"6,\"\",\"last\",,\n")
	for _, c := range []struct{ column, value, want string }{
		{"b (2)", "with, comma", `{"row":1,"values":{"a":"1","b":"x","b (2)":"with, comma"}}`},
		{"b", `say "hi"`, `{"row":2,"values":{"a":"2","b":"say \"hi\"","b (2)":""}}`},
		{"b", "ab", `{"row":3,"values":{"a":"3","b":"ab","b (2)":""}}`},
		{"b", "=SUM(1)", `{"row":4,"values":{"a":"4","b":"=SUM(1)","b (2)":"'plain"}}`},
		{"b (2)", "'plain", `{"row":4,"values":{"a":"4","b":"=SUM(1)","b (2)":"'plain"}}`},
		{"b", "", `{"row":5,"values":{"a":"5","b":"","b (2)":""}}`},
		{"b (2)", "last", `{"row":6,"values":{"a":"6","b":"","b (2)":"last"}}`},
		{"a", "7", `null`},
	} {
		got, err := b.r.Read(t.Context(), find(c.column, c.value))
		if err != nil || string(got) != c.want {
			t.Errorf("find %s = %q: %s, %v, want %s", c.column, c.value, got, err, c.want)
		}
	}
}

func BenchmarkFindRowInABigFile(b *testing.B) {
	dir := b.TempDir()
	var text bytes.Buffer
	text.WriteString("id,name,mail,city,amount,_pawl\n")
	for n := range 200_000 {
		fmt.Fprintf(&text, "%d,\"Customer %d\",customer%d@example.com,\"Some Town, North\",%d.50,key-%d\n", n, n, n, n%977, n)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.csv"), text.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	c, err := csv.New(csv.Config{Root: dir})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if got, err := c.Read(b.Context(), find("mail", "customer199999@example.com")); err != nil || len(got) < 10 {
			b.Fatalf("%s, %v", got, err)
		}
	}
}
