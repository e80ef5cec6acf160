package doctor_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/ops/doctor"
)

// found is the finding of a check.
func found(t *testing.T, nc *nats.Conn, check string) doctor.Finding {
	t.Helper()
	r, err := doctor.Server(t.Context(), nc)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Verdict != doctor.OK && f.Remedy == "" {
			t.Errorf("%+v names no remedy", f)
		}
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("nothing is said of %s: %+v", check, r.Findings)
	return doctor.Finding{}
}

// What a server of one's own is, and what its account does not show, is said; the log's streams are looked at.
func TestServer(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	for check, want := range map[string]doctor.Verdict{
		"server": doctor.OK, "max_payload": doctor.OK, "account": doctor.OK, "streams": doctor.OK,
		"clock": doctor.Unknown, "sync": doctor.Unknown, "permissions": doctor.Unknown,
	} {
		if f := found(t, nc, check); f.Verdict != want {
			t.Errorf("%s: %+v, want %s", check, f, want)
		}
	}
	log, err := jslog.Open(t.Context(), nc, jslog.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	name := jslog.StreamName("", 0)
	if f := found(t, nc, name); f.Verdict != doctor.Weak || !strings.Contains(f.Says, "1 replicas") {
		t.Errorf("%+v", f)
	}
	if f := found(t, nc, "clock"); f.Verdict != doctor.OK {
		t.Errorf("%+v", f)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.MaxMsgs = 1000
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if f := found(t, nc, name); f.Verdict != doctor.Problem || !strings.Contains(f.Says, "drop messages") {
		t.Errorf("%+v", f)
	}
}
