package logread

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// positions reads one position for each of the partitions; add is 1 when they are the positions that were read last.
// Positions of another generation are refused: they are those of other transitions, or of none.
func (r *Reader) positions(list string, add uint64) ([]uint64, error) {
	from := make([]uint64, r.Log.Partitions())
	for i := range from {
		from[i] = 1
	}
	if list == "" || list == "0" {
		return from, nil
	}
	generation, places, found := strings.Cut(list, "/")
	if !found {
		generation, places = "", list
	}
	if generation != r.Generation {
		return nil, rpc.Problemf(http.StatusGone, "position.restored",
			"the position %q is not one of this log: it was restored from a backup since, or is another one",
			eventlog.Clip(list, 80)).WithHint("read from the beginning: leave the position out")
	}
	for text := range strings.SplitSeq(places, ",") {
		p, err := eventlog.ParsePosition(strings.TrimSpace(text))
		if err != nil {
			return nil, rpc.Malformed("position.invalid", "%v", err).WithHint(positionHint)
		}
		if p.Partition >= len(from) {
			return nil, rpc.Malformed("position.invalid", "there is no partition %d; this log has %d", p.Partition,
				len(from)).WithHint(positionHint)
		}
		from[p.Partition] = max(p.Seq+add, 1)
	}
	return from, nil
}

// positionHint says what a position is.
const positionHint = "a position is PARTITION:SEQ, e.g. 0:17, as the log shows it; a bare number means partition 0; " +
	"leave it out to read from the beginning"

// appendPositions renders the next position of every partition, less back: the id of a server-sent event has the
// positions that were read last.
func (r *Reader) appendPositions(b []byte, next []uint64, back uint64) []byte {
	if r.Generation != "" {
		b = append(append(b, r.Generation...), '/')
	}
	for p, seq := range next {
		if p > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(p), 10)
		b = append(b, ':')
		b = strconv.AppendUint(b, seq-back, 10)
	}
	return b
}
