package jslog_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// What a consumer leaves out is read from the leader where the log has several replicas, and is damage where the leader
// lacks it too; with one replica nothing else is asked.
func TestADamagedReplicaIsReadAround(t *testing.T) {
	t.Parallel()
	s, _, _ := lastLost(t) // the leader lacks message 3 of 4
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.InDir(s.dir), natstest.Fast))
	if _, err := jslog.AcceptLoss(t.Context(), nc, s.config()); err != nil {
		t.Fatal(err)
	}
	accepted := mustOpen(t, nc, s.config())
	for name, c := range map[string]struct {
		log      *jslog.Log
		replicas bool
		to       uint64 // the message that the consumer comes to
		read     []uint64
		damaged  []uint64
	}{
		"one replica":                         {log: accepted, to: 5, damaged: []uint64{1, 4}},
		"several, and what lacks is accepted": {log: accepted, replicas: true, to: 5, read: []uint64{1, 2, 4}},
		"several, and the leader lacks some": {log: accepted, replicas: true, to: 8, read: []uint64{1, 2, 4},
			damaged: []uint64{5}},
	} {
		t.Run(name, func(t *testing.T) {
			c.log.SetMaxElection(0)
			if c.replicas {
				c.log.SetMaxElection(time.Second)
			}
			var read, damaged []uint64
			more := c.log.Jump(t.Context(), 1, c.to, func(r eventlog.Record, err error) bool {
				switch {
				case err == nil:
					read = append(read, r.Position.Seq)
				case errors.Is(err, eventlog.ErrDamaged):
					damaged = append(damaged, r.Position.Seq)
				default:
					t.Error(err)
				}
				return true
			})
			if !more || !slices.Equal(read, c.read) || !slices.Equal(damaged, c.damaged) {
				t.Errorf("read %v, damaged from %v; want %v and %v", read, damaged, c.read, c.damaged)
			}
		})
	}
}
