//go:build unix

package feed

import (
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// BenchmarkFeed publishes what is observed, on a server that syncs every write: three facts a transition, as many as
// the feeder takes. It reports the processor time of the whole process for a fact, the server's part included.
func BenchmarkFeed(b *testing.B) {
	s := siteOn(b, natstest.Connect(b, natstest.NewServer(b)), memlog.New(memlog.Config{}))
	// It must not read the log by itself: what is measured is what an engine tells it.
	f, _ := s.feeder(Config{Log: s.log, Conn: s.nc, Installation: "TEST", Idle: time.Hour, MissingWait: time.Hour})
	s.caughtUp(f)
	result := json.RawMessage(`{"to":"someone@example.org","subject":"A subject of usual length","lines":["one","two"]}`)
	records := make([]eventlog.Record, b.N/3+1)
	for i := range records {
		records[i] = s.recordFacts("orders", &eventlog.RunPrepared{Run: "01JDABCDEFGHJKMNPQRSTVWXYZ", Result: result},
			&eventlog.EventReserved{Topic: "orders", MessageID: "order-1", Run: "01JDABCDEFGHJKMNPQRSTVWXYZ"},
			&eventlog.RunAdvanced{Run: "01JDABCDEFGHJKMNPQRSTVWXYZ", Phase: eventlog.PhaseMutating})
	}
	before := used(b)
	b.ResetTimer()
	for len(records) > 0 {
		n := min(len(records), backlogRecords)
		for _, r := range records[:n] {
			f.Observe(r)
		}
		records = records[n:]
		if err := f.Await(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((used(b)-before).Microseconds())/float64(b.N), "cpu-µs/fact")
}

// used is the processor time of this process.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
