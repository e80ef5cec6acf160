package jslog_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// A slow reader of large transitions does not get all of them into memory.
func TestReadAheadIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	s := natstest.NewServer(t, natstest.Fast)
	nc := natstest.Connect(t, s)
	l := mustOpen(t, nc, jslog.Config{})
	const records, size = 120, 1 << 20
	for range records {
		putRaw(t, nc, "pawl.log.0.orders.run.started", 0, make([]byte, size))
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "PAWL_LOG_0")
	if err != nil {
		t.Fatal(err)
	}
	delivered := func() (most uint64) {
		consumers := stream.ListConsumers(t.Context())
		for info := range consumers.Info() {
			most = max(most, info.Delivered.Stream)
		}
		if err := consumers.Err(); err != nil {
			t.Fatal(err)
		}
		return most
	}
	for range l.Read(t.Context(), 0, 1) { // none can be decoded, which is not the point
		// The server delivers on while nothing is read, until it may not.
		last, same := uint64(0), 0
		for same < 100 {
			if now := delivered(); now != last {
				last, same = now, 0
			} else {
				same++
			}
		}
		if last < 10 || last > 90 {
			t.Errorf("%d of %d records of 1 MiB were sent ahead, want about 64", last, records)
		}
		break
	}
}
