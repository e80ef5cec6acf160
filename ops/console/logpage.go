package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

type (
	logView struct {
		header
		All     bool
		Query   url.Values
		Records []transition
		// Older are the positions behind the older rows; empty at the beginning of the log.
		Older string
		// Rows is the address of the stream of new rows; empty for a part of the past.
		Rows string
		Tail string
	}
	// transition is a record of the log, as readLog answers it.
	transition struct {
		Partition int                   `json:"partition"`
		Seq       uint64                `json:"seq"`
		ID        string                `json:"id"`
		Workflow  eventlog.WorkflowName `json:"workflow"`
		Revision  uint64                `json:"revision"`
		Kind      string                `json:"kind"`
		At        eventlog.Instant      `json:"at"`
		Actor     eventlog.Actor        `json:"actor"`
		Cause     eventlog.Cause        `json:"cause"`
		Events    []struct {
			Type    string          `json:"type"`
			Version int             `json:"version"`
			Data    json.RawMessage `json:"data"`
		} `json:"events"`
	}
	// logPart is a part of the log, as readLog answers it.
	logPart struct {
		Items         []transition
		Next, Reached *string
	}
)

// readAtOnce is about how many transitions are read for a page that shows only those with a certain fact.
const readAtOnce = 2000

// log shows the newest transitions of a workflow, or of all, the newest first; or those before a position.
func (c *Console) log(v *visit) (string, page, error) {
	view := logView{Query: v.r.URL.Query(), Tail: v.r.URL.Query().Get("tail"), All: true}
	fields := given(view.Query, "type", "before")
	nav, title := "log", "Log"
	if name := v.r.PathValue("workflow"); name != "" {
		var err error
		if view.header, err = v.header("log"); err != nil {
			return "", page{}, err
		}
		fields["workflow"], nav, title, view.All = name, "home", name+" log", false
	}
	tail, err := strconv.Atoi(view.Tail)
	if err != nil || tail < 1 || tail > 1000 {
		tail = shownAtOnce
	}
	fields["tail"], fields["limit"], fields["scan"] = tail, tail, readAtOnce
	ends, err := c.logEnds(v)
	if err != nil {
		return "", page{}, err
	}
	part, err := ask[logPart](v, "readLog", fields)
	if err != nil {
		return "", page{}, err
	}
	view.Records = part.Items
	if part.Reached != nil {
		view.Older = *part.Reached
	}
	if view.Query.Get("before") == "" {
		for _, r := range view.Records {
			ends[r.Partition] = max(ends[r.Partition], r.Seq+1)
		}
		from := url.Values{"from": {c.positions(ends)}}
		for _, name := range []string{"type", "workflow"} {
			if value, ok := fields[name].(string); ok {
				from.Set(name, value)
			}
		}
		view.Rows = Base + "live/log?" + from.Encode()
	}
	slices.Reverse(view.Records)
	return "log", page{Title: title, Nav: nav, Body: view}, nil
}

// logEnds are the positions behind the ends of all partitions.
func (c *Console) logEnds(v *visit) ([]uint64, error) {
	ends := make([]uint64, c.cfg.Log.Partitions())
	for p := range ends {
		last, err := c.cfg.Log.Last(v.r.Context(), p)
		if err != nil {
			return nil, rpc.Problemf(http.StatusServiceUnavailable, "log.unavailable", "The log does not answer.").
				WithCause(err).WithHint("Look again in a moment.")
		}
		ends[p] = last + 1
	}
	return ends, nil
}

// positions writes one position in each partition in the form of readLog.
func (c *Console) positions(at []uint64) string {
	list := ""
	if c.cfg.Generation != "" {
		list = c.cfg.Generation + "/"
	}
	for p, seq := range at {
		if p > 0 {
			list += ","
		}
		list += strconv.Itoa(p) + ":" + strconv.FormatUint(seq, 10)
	}
	return list
}

// logRows sends new rows to a page of the log, one by one as they are written, rendered as on the page.
func (c *Console) logRows(w http.ResponseWriter, r *http.Request) {
	v := c.admit(w, r)
	if v == nil {
		return
	}
	leave, p := c.cfg.Followers.Take(v.caller) // taken before the first read, which costs more than the waiting
	if p != nil {
		rpc.WriteProblem(w, p) // the page's script comes back later
		return
	}
	defer leave()
	s, ok := openStream(w)
	if !ok {
		return
	}
	fields := given(r.URL.Query(), "from", "type", "workflow")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		fields["from"] = last
	}
	fields["follow"], fields["limit"] = true, shownAtOnce
	row, all := c.views()["log"].Lookup("logrow"), fields["workflow"] == nil
	for r.Context().Err() == nil && c.cfg.Life.Err() == nil && c.cfg.Guard.Open(v.caller) {
		part, err := ask[logPart](v, "readLog", fields)
		if err != nil || part.Next == nil {
			return // the page asks again
		}
		fields["from"] = *part.Next
		for i, t := range part.Items {
			id := ""
			if i == len(part.Items)-1 {
				id = *part.Next
			}
			if !s.row(row, page{visit: v, now: c.cfg.Now(), Body: logRow{t, all}}, id) {
				return
			}
		}
		if len(part.Items) == 0 && !s.send(": alive\n\n") {
			return
		}
	}
}

// logRow is one row of the log; All says that the page shows all workflows.
type logRow struct {
	transition
	All bool
}

// Shown are the records as rows.
func (l logView) Shown() []logRow {
	rows := make([]logRow, len(l.Records))
	for i, r := range l.Records {
		rows[i] = logRow{r, l.All}
	}
	return rows
}
