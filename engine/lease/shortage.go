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
	// LacksRecords: it was given a partition, and made no progress in reading what others had written there.
	LacksRecords Shortage = "records"
)

// Holds reports whether the engine begins nothing of what it owns. One that lacks records alone has read what it owns.
func (s Shortage) Holds() bool { return s == LacksDiskSpace || s == LacksStore }

// notice is what an engine tells the others about what it lacks. A change that passes soon is not told, since each one
// costs the hand-over of partitions.
type notice struct {
	renew time.Duration
	begun bool
	told  Shortage
	// steady is when the engine was last in the state that it tells.
	steady time.Duration
}

// update takes what the engine lacks now, and reports whether there is something new to tell.
func (n *notice) update(lacks Shortage, now time.Duration) bool {
	lasting := 2 * n.renew
	if lacks == "" {
		lasting = 30 * n.renew
	}
	switch {
	case (lacks == "") == (n.told == ""):
		n.steady = now
	case n.begun && now-n.steady < lasting:
		return false
	}
	n.begun = true
	if lacks == n.told {
		return false
	}
	n.told, n.steady = lacks, now
	return true
}
