package console

import (
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/ops/rpc"
)

// quiet is the shortest time between two reports of changes, and so between two updates of a page.
const quiet = time.Second

// stream is an answer of server-sent events.
type stream struct {
	w   http.ResponseWriter
	out *http.ResponseController
}

// openStream begins a stream, and reports whether its reader is there.
func openStream(w http.ResponseWriter) (*stream, bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	s := &stream{w, http.NewResponseController(w)}
	return s, s.send("retry: 3000\n: pawl\n\n")
}

// send reports whether the reader is still there.
func (s *stream) send(text string) bool {
	rpc.LimitWrite(s.w)
	if _, err := fmt.Fprint(s.w, text); err != nil {
		return false
	}
	return s.out.Flush() == nil
}

// row sends a rendered part of a page. A browser that connects again names the last id that it has received.
func (s *stream) row(t *template.Template, p page, id string) bool {
	var out strings.Builder
	if err := t.Execute(&out, p); err != nil {
		return false
	}
	text := "event: row\n"
	if id != "" {
		text += "id: " + id + "\n"
	}
	for line := range strings.Lines(strings.TrimSpace(out.String())) {
		text += "data: " + strings.TrimRight(line, "\n") + "\n"
	}
	return s.send(text + "\n")
}

// live tells a page by server-sent events that something has changed; the page then loads itself again.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	v := c.admit(w, r)
	if v == nil {
		return
	}
	leave, p := c.cfg.Followers.Take(v.caller)
	if p != nil {
		rpc.WriteProblem(w, p) // the page's script asks again later
		return
	}
	defer leave()
	revision, changed := c.activity.next() // before the stream begins, so that the page misses no change after that
	s, ok := openStream(w)
	if !ok {
		return
	}
	alive := time.NewTicker(c.cfg.KeepAlive)
	defer alive.Stop()
	if since, err := strconv.ParseUint(r.URL.Query().Get("since"), 10, 64); err == nil && since < revision {
		if !s.send(fmt.Sprintf("event: changed\ndata: %d\n\n", revision)) { // the change came before the page listened
			return
		}
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-c.cfg.Life.Done():
			return
		case <-c.cfg.Revocations.Next():
			if !c.cfg.Guard.Open(v.caller) {
				return
			}
		case <-alive.C:
			if !c.cfg.Guard.Open(v.caller) || !s.send(": alive\n\n") {
				return
			}
		case <-changed:
			var revision uint64
			revision, changed = c.activity.next()
			if !s.send(fmt.Sprintf("event: changed\ndata: %d\n\n", revision)) {
				return
			}
			select { // the first change is reported at once, and those that follow it together after a moment
			case <-r.Context().Done():
				return
			case <-time.After(quiet):
			}
		}
	}
}
