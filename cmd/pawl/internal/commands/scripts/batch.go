package scripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// batched are the versions of MCP that have batches. The SDK ends a session of a later one at a batch.
var batched = []string{"2024-11-05", "2025-03-26"}

// batch splits a batch, an array of messages that clients of an old version send, into what the SDK can take. It
// answers the elements at which the SDK would end the session. The calls stay in one batch, so that their answers come
// in one too. A notification or an answer gets a line of its own: in a batch the SDK would wait for an answer to it,
// and would take two of them for the same call twice.
func (m *messages) batch(line []byte) (passed [][]byte, answer string) {
	var elements []json.RawMessage
	if err := json.Unmarshal(line, &elements); err != nil {
		return nil, rpcError(jsonrpc.CodeParseError, "this line is no JSON")
	}
	switch {
	case len(elements) == 0:
		return nil, rpcError(jsonrpc.CodeInvalidRequest, "this batch is empty")
	case !m.batches:
		return nil, rpcError(jsonrpc.CodeInvalidRequest, "this session has no batches; send each message on a line of its "+
			"own")
	}
	var calls [][]byte
	var refused []string
	ids := map[jsonrpc.ID]bool{}
	for _, element := range elements {
		message, err := jsonrpc.DecodeMessage(element)
		if err != nil {
			refused = append(refused, rpcError(jsonrpc.CodeInvalidRequest,
				"this element of the batch is no message of JSON-RPC 2.0"))
			continue
		}
		request, ok := message.(*jsonrpc.Request)
		if !ok || !request.IsCall() {
			passed = append(passed, element)
			continue
		}
		if ids[request.ID] {
			refused = append(refused, rpcError(jsonrpc.CodeInvalidRequest, "this batch has two calls with the same id"))
			continue
		}
		ids[request.ID] = true
		calls = append(calls, element)
	}
	if len(calls) > 0 {
		passed = append(passed, append(append([]byte{'['}, bytes.Join(calls, []byte{','})...), ']'))
	}
	if len(refused) > 0 {
		answer = "[" + strings.Join(refused, ",") + "]"
	}
	return passed, answer
}

// note remembers whether the session that a message begins has batches: the client names its version, and is given
// that one, or the newest where it is not known.
func (m *messages) note(message jsonrpc.Message) {
	request, ok := message.(*jsonrpc.Request)
	if !ok || request.Method != "initialize" {
		return
	}
	var params struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(request.Params, &params) == nil {
		m.batches = slices.Contains(batched, params.ProtocolVersion)
	}
}

// rpcError is an answer of JSON-RPC that belongs to no single call: its id is null.
func rpcError(code int, what string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`, code, what)
}
