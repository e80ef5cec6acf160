package scripts

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// A line that is no message is answered, and what follows it is read.
func TestLinesThatAreNoMessages(t *testing.T) {
	t.Parallel()
	const first, second = `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	var out bytes.Buffer
	got, err := io.ReadAll(newMessages(strings.NewReader(first+"\nnot json\n\n"+`"text"`+"\n"+second+"\r\n"), &out))
	if err != nil || string(got) != first+"\n"+second+"\n" {
		t.Errorf("read %q, %v", got, err)
	}
	want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this line is no JSON"}}` + "\n" +
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"this line is no message of JSON-RPC 2.0"}}` + "\n"
	if out.String() != want {
		t.Errorf("answered %s", out.String())
	}
}

// The faults of a batch are answered, and its messages are read. No batch ends the session.
func TestBatches(t *testing.T) {
	t.Parallel()
	const (
		old     = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26"}}`
		later   = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
		one     = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		two     = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
		noted   = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		answer  = `{"jsonrpc":"2.0","id":7,"result":{}}`
		empty   = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"this batch is empty"}}`
		invalid = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"this element of the batch is no message of ` +
			`JSON-RPC 2.0"}}`
		twice = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"this batch has two calls with the same id"}}`
		cut   = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this line is no JSON"}}`
		none  = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"this session has no batches; send each ` +
			`message on a line of its own"}}`
	)
	for name, c := range map[string]struct{ begin, line, passed, answered string }{
		"sound": {old, `[` + one + `, ` + two + `]`, `[` + one + `,` + two + `]`, ""},
		"what wants no answer": {
			old, `[` + noted + `,` + one + `,` + noted + `,` + answer + `]`,
			noted + "\n" + noted + "\n" + answer + "\n[" + one + "]", "",
		},
		"empty":                     {old, `[]`, "", empty},
		"empty, in a later version": {later, ` [ ] `, "", empty},
		"no messages":               {old, `[1, null, {}]`, "", "[" + invalid + "," + invalid + "," + invalid + "]"},
		"a message beside none":     {old, `[[],` + one + `]`, "[" + one + "]", "[" + invalid + "]"},
		"cut off":                   {old, `[{"jsonrpc":"2.0"`, "", cut},
		"an id twice":               {old, `[` + one + `,` + one + `]`, "[" + one + "]", "[" + twice + "]"},
		"a later version":           {later, `[` + one + `]`, "", none},
		"before the session":        {two, `[` + one + `]`, "", none},
	} {
		var out bytes.Buffer
		got, err := io.ReadAll(newMessages(strings.NewReader(c.begin+"\n"+c.line+"\n"+two+"\n"), &out))
		want := c.begin + "\n"
		if c.passed != "" {
			want += c.passed + "\n"
		}
		if want += two + "\n"; err != nil || string(got) != want {
			t.Errorf("%s: read %q, %v; want %q", name, got, err, want)
		}
		if answered := strings.TrimSpace(out.String()); answered != c.answered {
			t.Errorf("%s: answered %s, want %s", name, answered, c.answered)
		}
	}
}
