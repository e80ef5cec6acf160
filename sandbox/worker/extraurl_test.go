package worker

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestURLEqualsNode: addresses are read, resolved and changed as Node 20 does it. The lines are made by
// testdata/url.mjs: node testdata/url.mjs > testdata/url.jsonl.
func TestURLEqualsNode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/url.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		URL    string
		Base   *string
		Change []string
		Result []string
	}
	var lines []line
	for scanner := bufio.NewScanner(strings.NewReader(string(text))); scanner.Scan(); {
		var l line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	if len(lines) < 500 {
		t.Fatalf("only %d lines", len(lines))
	}
	call := invocationOf(sandbox.Prepare, `
const members = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
return a.map(({ url, base, change }) => {
	try {
		const u = new URL(url, base);
		if (change) u[change[0]] = change[1];
		return members.map((m) => u[m]);
	} catch { return null }
})`)
	call.Limits.CPU = sandbox.MaxCPU // it is a long list
	call.State = json.RawMessage("[" + strings.Join(strings.Split(strings.TrimSpace(string(text)), "\n"), ",") + "]")
	result, err := newExecutor(t).Invoke(t.Context(), call, world)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	if err := json.Unmarshal(result.Value, &got); err != nil {
		t.Fatal(err)
	}
	for i, l := range lines {
		if !reflect.DeepEqual(got[i], l.Result) {
			base := ""
			if l.Base != nil {
				base = *l.Base
			}
			t.Errorf("%q against %q, %q:\ngot  %q\nwant %q", l.URL, base, l.Change, got[i], l.Result)
		}
	}
}
