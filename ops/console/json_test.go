package console

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// JSON is shown as json.Indent writes it.
func TestIndent(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`null`, `-1.5e3`, `"a\\\"]}"`, `{}`, `[ ]`, `[{ }, [],{"a":[1,"x,:{",true]}]`,
		` { "a" : { "b":[ 1 , 2 ] } , "c":"é\u00e9" } `, `{"deep":[[[[[[[[[[{"a":1,"b":[]}]]]]]]]]]]}`} {
		var want bytes.Buffer
		if err := json.Indent(&want, []byte(strings.TrimSpace(raw)), "", "  "); err != nil {
			t.Fatal(err)
		}
		if got := indent(json.RawMessage(raw)); got != want.String() {
			t.Errorf("%s:\n%s\nwant\n%s", raw, got, want.String())
		}
	}
	if got := indent(nil) + indent(json.RawMessage(`{"a`)); got != `{"a` {
		t.Errorf("what is no JSON is shown as %s", got)
	}
}

// What is nested deep costs no more than what is long, and is shown whole where there is room for it.
func TestIndentIsBounded(t *testing.T) {
	deep := strings.Repeat(`[`, 9_999) + strings.Repeat(`]`, 9_999)
	objects := strings.Repeat(`{"a":[`, 4_999) + strings.Repeat(`]}`, 4_999)
	long := "[" + strings.Repeat(`"\u0041bcdefgh",`, 20_000) + "0]"
	for _, raw := range []string{deep, objects, long, strings.Repeat("x", 1<<20)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		shown, row := indent(json.RawMessage(raw)), indentRow(json.RawMessage(raw))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
			t.Errorf("%.10s… takes %d KiB", raw, used>>10)
		}
		if len(shown) > maxShown+40 || len(row) > maxRowShown+40 {
			t.Errorf("%.10s… is shown with %d bytes, in a row with %d", raw, len(shown), len(row))
		}
		if cut := strings.HasSuffix(shown, " bytes in all"); cut != (len(raw) > maxShown) {
			t.Errorf("%.10s… of %d bytes is cut: %t", raw, len(raw), cut)
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(indent(json.RawMessage(deep)))); err != nil || compact.String() != deep {
		t.Errorf("what is nested deep is shown as something else: %v", err)
	}
}

// In a list of many a value is shown whole or not at all, at a small cost.
func TestWhole(t *testing.T) {
	t.Parallel()
	short := `{"a":["` + strings.Repeat("x", maxListed/2) + `"]}`
	if got := whole(json.RawMessage(short)); got != indent(json.RawMessage(short)) {
		t.Errorf("a short value is shown as %s", got)
	}
	deep := strings.Repeat(`[0,`, 1000) + "0" + strings.Repeat(`]`, 1000)
	for _, raw := range []string{`"` + strings.Repeat("x", maxListed) + `"`, deep} {
		if got := whole(json.RawMessage(raw)); got != "" {
			t.Errorf("%.10s… is shown with %d bytes", raw, len(got))
		}
	}
}
