package scripts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// messages are those lines of a client that are messages. The SDK ends the session at the first line that is none, so
// such a line does not reach it: it is answered here, as JSON-RPC wants it, and the session goes on.
type messages struct {
	lines *bufio.Scanner
	out   io.Writer
	rest  []byte
	// batches tells that the session has batches.
	batches bool
}

func newMessages(in io.Reader, out io.Writer) *messages {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, mcp.DefaultMaxLineLength)
	return &messages{lines: lines, out: out}
}

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		if !m.lines.Scan() {
			if err := m.lines.Err(); err != nil {
				return 0, fmt.Errorf("read a line of the client: %w", err)
			}
			return 0, io.EOF
		}
		line := bytes.TrimSpace(m.lines.Bytes())
		if len(line) == 0 {
			continue
		}
		passed, answer := m.split(line)
		if answer != "" {
			if _, err := fmt.Fprintln(m.out, answer); err != nil {
				return 0, fmt.Errorf("answer a line that is no message: %w", err)
			}
		}
		for _, message := range passed {
			m.rest = append(append(m.rest, message...), '\n')
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// split gives the messages of a line that the SDK takes, and the answer to the rest of it; empty for none.
func (m *messages) split(line []byte) (passed [][]byte, answer string) {
	if line[0] == '[' {
		return m.batch(line)
	}
	if !json.Valid(line) {
		return nil, rpcError(jsonrpc.CodeParseError, "this line is no JSON")
	}
	message, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, rpcError(jsonrpc.CodeInvalidRequest, "this line is no message of JSON-RPC 2.0")
	}
	m.note(message)
	return [][]byte{line}, ""
}

// wholeLines is an output to which several write lines, and which the protocol does not close.
type wholeLines struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer.
func (w *wholeLines) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(line)
}

// Close implements io.Closer.
func (*wholeLines) Close() error { return nil }
