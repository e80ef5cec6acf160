package bucket

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// busyTable refuses so many writes since another one is in process.
type busyTable struct {
	jetstream.KeyValue
	left int
}

func (b *busyTable) Update(context.Context, string, []byte, uint64) (uint64, error) {
	if b.left > 0 {
		b.left--
		return 0, &jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequenceConstant}
	}
	return 7, nil
}

// A write that meets another one in process is neither refused nor failed: it is sent again, until its caller has gone.
func TestABusyWriteIsSentAgain(t *testing.T) {
	t.Parallel()
	b := &Bucket{kv: &busyTable{left: 5}}
	if revision, err := b.Put(t.Context(), "key", nil, 6); err != nil || revision != 7 {
		t.Errorf("revision %d, %v; want 7", revision, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	b = &Bucket{kv: &busyTable{left: 1 << 30}}
	if revision, err := b.Put(gone, "key", nil, 6); err == nil {
		t.Errorf("revision %d for a caller that has gone", revision)
	}
}
