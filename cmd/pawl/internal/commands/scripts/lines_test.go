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
	const first, second = `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `[{"jsonrpc":"2.0","id":2,"method":"ping"}]`
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
