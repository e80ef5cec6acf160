package ops

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type logRequest struct {
	From     string                `json:"from,omitempty" in:"query" jsonschema:"the first position to read, partition:seq, or a bare number for partition 0; several are joined by commas; the beginning when left out"`
	Workflow eventlog.WorkflowName `json:"workflow,omitempty" in:"query" jsonschema:"only this workflow's transitions"`
	Follow   bool                  `json:"follow,omitempty" in:"query" jsonschema:"go on with new transitions: the stream stays open"`
	Tail     logLimit              `json:"tail,omitempty" in:"query" jsonschema:"only the newest so many of what is there to read"`
	Limit    logLimit              `json:"limit,omitempty" in:"query" jsonschema:"the most transitions to answer; all when left out, in a page at most 1000"`
}

func (r *logRequest) Scope() *eventlog.WorkflowName { return &r.Workflow }

// transitionDocument is the form of eventlog.Record's JSON, for its schema.
type transitionDocument struct {
	Partition int                   `json:"partition"`
	Seq       uint64                `json:"seq"`
	ID        eventlog.TransitionID `json:"id"`
	Workflow  eventlog.WorkflowName `json:"workflow"`
	Revision  uint64                `json:"revision"`
	Kind      eventlog.FactType     `json:"kind"`
	At        eventlog.Instant      `json:"at"`
	Actor     eventlog.Actor        `json:"actor"`
	Cause     eventlog.Cause        `json:"cause"`
	Events    []factDocument        `json:"events" jsonschema:"the facts that became true together"`
}

type factDocument struct {
	Type    eventlog.FactType `json:"type"`
	Version int               `json:"version"`
	Data    rpc.RawJSON       `json:"data"`
}

// logLimit is a number of transitions of 1 or more; 0 when left out.
type logLimit int

var logTable = []Operation{func() Operation {
	o := operation("readLog", "GET /v1/log", rpc.Viewer,
		"Read the log as server-sent events, one transition each; as application/json, and without follow, a page of it").slow()
	o = define(o, func(ctx context.Context, c *Call, q *logRequest) (*logPage, error) {
		return c.server.pageLog(ctx, c, q)
	})
	o.Streams = true
	o.DescribeAnswer = func(c *rpc.Components) (any, error) {
		transition, err := c.Component("Transition", reflect.TypeFor[transitionDocument](), nil)
		if err != nil {
			return nil, err
		}
		return c.Page("Transition", transition,
			"where the next page begins, as `from` takes it; null where the log ends and nobody follows it")
	}
	o.stream = func(w http.ResponseWriter, r *http.Request, c *Call, request any) (bool, error) {
		q := request.(*logRequest)
		if !q.Follow && accepts(r, "application/json") && !accepts(r, "text/event-stream") {
			return false, nil
		}
		return true, c.server.readLog(w, r, c, q)
	}
	return o
}()}

// readLog answers with server-sent events.
func (s *Server) readLog(w http.ResponseWriter, r *http.Request, c *Call, q *logRequest) error {
	if err := s.started(r.Context()); err != nil {
		return err
	}
	from, err := s.logStart(r.Context(), q)
	if err != nil {
		return err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		// A reconnecting reader repeats its first request; where it got to counts.
		if from, err = s.positions(last, 1); err != nil {
			return err
		}
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return nil // what a stream would say never ends
	}
	leave, p := s.followers.Take(&c.Caller)
	if p != nil {
		return p
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	return s.streamLog(ctx, w, c, q, from)
}

// logStart says where reading begins in every partition, if what is asked for can be read at all.
func (s *Server) logStart(ctx context.Context, q *logRequest) ([]uint64, error) {
	from, err := s.positions(q.From, 0)
	if err != nil {
		return nil, err
	}
	if q.Workflow != "" {
		if _, ok := s.cfg.Engine.State(q.Workflow); !ok && s.cfg.Engine.Stopped()[q.Workflow] == nil {
			return nil, &readmodel.NotFoundError{What: "workflow", ID: string(q.Workflow)}
		}
	}
	return from, s.tail(ctx, q, from)
}

// positions reads one position per partition; add is 1 when they name what was read last.
func (s *Server) positions(list string, add uint64) ([]uint64, error) {
	from := make([]uint64, s.cfg.Log.Partitions())
	for i := range from {
		from[i] = 1
	}
	if list == "" {
		return from, nil
	}
	for text := range strings.SplitSeq(list, ",") {
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
const positionHint = "a position is PARTITION:SEQ, e.g. 0:17, as the log shows it; a bare number means partition 0; leave it out to read from the beginning"

// appendPositions renders the next position of every partition, or those that lie so far back: an
// event's id names what was read last.
func appendPositions(b []byte, next []uint64, back uint64) []byte {
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

func accepts(r *http.Request, media string) bool {
	for _, header := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(header, ",") {
			name, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), media) {
				return true
			}
		}
	}
	return false
}

// readable reports whether the log can be read beyond the error: one record of it is unreadable.
func readable(err error) bool { return errors.Is(err, eventlog.ErrUnreadable) }
