package jslog_test

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// question is one for a message of partition 0.
type question struct {
	Seq  uint64 `json:"seq"`
	Next string `json:"next_by_subj"`
	Last string `json:"last_by_subj"`
}

// message is the answer to a question; nil where there is no such message.
type message struct {
	Subject string `json:"subject"`
	Seq     uint64 `json:"seq"`
	Data    []byte `json:"data"`
}

// answering is a connection to servers that answer questions for messages of partition 0 as the test says, and nothing
// else.
func answering(t *testing.T, answer func(question) *message) *nats.Conn {
	t.Helper()
	nc := natstest.WithoutJetStream(t)
	_, err := nc.Subscribe("$JS.API.STREAM.MSG.GET."+jslog.StreamName("", 0), func(m *nats.Msg) {
		var q question
		if err := json.Unmarshal(m.Data, &q); err != nil {
			t.Error(err)
		}
		body := []byte(`{"error":{"code":404,"err_code":10037,"description":"no message found"}}`)
		if found := answer(q); found != nil {
			text, err := json.Marshal(found)
			if err != nil {
				t.Error(err)
			}
			body = append(append([]byte(`{"message":`), text...), '}')
		}
		if err := m.Respond(body); err != nil {
			t.Error(err)
		}
	})
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return nc
}
