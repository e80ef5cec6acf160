package lease

import "time"

// Shortage is what an engine lacks to begin anything. It then gives its partitions to engines that lack nothing, as far
// as there are any, and comes back by itself. It is empty where nothing is lacking.
type Shortage string

// The shortages.
const (
	// LacksDiskSpace: nothing new starts, so that what is under way can still be written.
	LacksDiskSpace Shortage = "diskSpace"
	// LacksStore: the local store cannot take what the log holds.
	LacksStore Shortage = "localStore"
	// LacksRecords: it was given a partition and did not get on with reading what others had written there.
	LacksRecords Shortage = "records"
)

// supply is what an engine lacks, as it tells the others. A change that passes soon is not told: each costs the
// hand-over of partitions.
type supply struct {
	renew time.Duration
	begun bool
	told  Shortage
	// steady is when the engine was last seen as it is told.
	steady time.Duration
}

// see takes a look in, and reports whether there is something else to tell now.
func (s *supply) see(lacks Shortage, now time.Duration) bool {
	patience := 2 * s.renew
	if lacks == "" {
		patience = 30 * s.renew
	}
	switch {
	case (lacks == "") == (s.told == ""):
		s.steady = now
	case s.begun && now-s.steady < patience:
		return false
	}
	s.begun = true
	if lacks == s.told {
		return false
	}
	s.told, s.steady = lacks, now
	return true
}
