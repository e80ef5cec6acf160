package lease

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A lease whose taking was answered after its time is over from the beginning.
func TestALeaseThatIsOverAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, err := New(Config{Bucket: &way{table: newTable()}, Partitions: 1, Node: "a",
			Elapsed: func() time.Duration { return time.Hour }, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		l := k.newLease(0, Entry{Engine: k.Engine(), Epoch: 1}, 1, time.Minute)
		<-l.Over()
		if l.Holds() || l.Cause() == nil {
			t.Errorf("it holds: %t, cause %v", l.Holds(), l.Cause())
		}
	})
}
