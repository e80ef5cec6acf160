package embeddednats

import (
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// gateTime is how long JetStream may take to answer the gate.
const gateTime = 5 * time.Second

// maxRequest bounds what a reader asks the gate, in bytes.
const maxRequest = 64 << 10

// gate lists the streams of readers and creates consumers for them: pull consumers only, because a push consumer would
// write to any subject that its creator names. Readers share a number of consumers for each stream, because
// each consumer costs the engine memory and disk.
type gate struct {
	nc *nats.Conn
	js jetstream.JetStream
	// swept are the streams where no consumer of an earlier version is left. Only serve uses it, which is called
	// for one request at a time.
	swept map[string]bool
}

// problem is an error in the form in which JetStream answers it.
type problem struct {
	Type  string `json:"type"`
	Error struct {
		Code        int    `json:"code"`
		ErrCode     int    `json:"err_code,omitempty"`
		Description string `json:"description"`
	} `json:"error"`
}

// refuse answers a request with an error. answer is the type of the answer that the request would have had.
func refuse(m *nats.Msg, answer string, status, code int, err error) {
	var p problem
	p.Type = answer
	p.Error.Code, p.Error.ErrCode, p.Error.Description = status, code, err.Error()
	data, _ := json.Marshal(p) // strings and numbers always encode
	_ = m.Respond(data)
}
