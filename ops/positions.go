package ops

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

const (
	// PositionHeader is on the answer to each request that has recorded something: the positions in the log, as
	// PARTITION:SEQ, several separated by commas.
	PositionHeader = "Pawl-Position"
	// LagHeader is on the answers of an engine of a cluster: for how many seconds it may lack what others have written.
	LagHeader = "Pawl-Lag"
	// afterQuery is the parameter of a request whose answer must contain everything up to a position.
	afterQuery = "after"
	// afterTime is how long such a request waits.
	afterTime = 10 * time.Second
)

// awaitAfter waits until this engine has read the log up to the positions that a GET request names in `after`, and
// returns the request without it.
func (b *backend) awaitAfter(r *http.Request) (*http.Request, *rpc.Problem) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || !strings.Contains(r.URL.RawQuery, afterQuery+"=") {
		return r, nil
	}
	query := r.URL.Query()
	if !query.Has(afterQuery) {
		return r, nil
	}
	if p := b.await(r.Context(), query.Get(afterQuery)); p != nil {
		return r, p
	}
	query.Del(afterQuery)
	r = r.Clone(r.Context())
	r.URL.RawQuery = query.Encode()
	return r, nil
}

// await waits until this engine has read the log up to the positions of the list.
func (b *backend) await(ctx context.Context, list string) *rpc.Problem {
	var positions []eventlog.Position
	for text := range strings.SplitSeq(list, ",") {
		p, err := eventlog.ParsePosition(strings.TrimSpace(text))
		if err != nil || p.Partition >= b.cfg.Log.Partitions() {
			return rpc.Malformed("position.invalid", "%s is not a position in this log", eventlog.ClipName(text)).
				WithHint("a position is PARTITION:SEQ, as the header " + PositionHeader + " of an answer has it")
		}
		positions = append(positions, p)
	}
	ctx, cancel := context.WithTimeout(ctx, afterTime)
	defer cancel()
	if err := b.cfg.Engine.AwaitPositions(ctx, positions...); err != nil {
		return rpc.Problemf(http.StatusServiceUnavailable, "position.notRead",
			"this engine has not read the log up to %s within %s", eventlog.ClipName(list), afterTime).
			WithHint("ask again in a moment, or ask another node").WithCause(err)
	}
	return nil
}

// awaitOverNATS is awaitAfter for a request over NATS.
func (b *backend) awaitOverNATS(ctx context.Context, o *Operation, c *rpc.NATSCall) *rpc.Problem {
	switch {
	case c.After == "":
		return nil
	case o.Method != http.MethodGet:
		return rpc.Malformed("position.invalid", "%s is no read, and only reads wait for a position", o.ID).
			WithHint("leave the header " + rpc.AfterHeader + " out")
	}
	return b.await(ctx, c.After)
}

// tellPositions adds the header with the positions of what the request has recorded.
func tellPositions(w interface{ Set(key, value string) }, recorded *engine.Recorded) {
	if at := positionsOf(recorded); at != "" {
		w.Set(PositionHeader, at)
	}
}

// positionsOf are the positions of what was recorded, as the header has them; empty for nothing.
func positionsOf(recorded *engine.Recorded) string {
	at := recorded.Positions()
	texts := make([]string, len(at))
	for i, p := range at {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}

// tellLag adds the header that says how far this engine may be behind the others of its cluster.
func (b *backend) tellLag(w interface{ Set(key, value string) }) {
	if behind, shares := b.cfg.Engine.Behind(); shares {
		w.Set(LagHeader, strconv.Itoa(int(math.Ceil(behind.Seconds()))))
	}
}
