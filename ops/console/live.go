package console

import (
	"fmt"
	"net/http"
	"time"

	"github.com/pawl-run/pawl/ops/rpc"
)

// quiet is the shortest time between two signs that something has changed: a page is not made more often.
const quiet = time.Second

// live tells a page by server-sent events that something has changed; it then asks for itself again.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	v := c.admit(w, r)
	if v == nil {
		return
	}
	leave, p := c.cfg.Followers.Take(v.caller)
	if p != nil {
		rpc.WriteProblem(w, p) // the page's script comes back later
		return
	}
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	send := func(text string) bool {
		rpc.LimitWrite(w)
		if _, err := fmt.Fprint(w, text); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	if !send("retry: 3000\n: pawl\n\n") {
		return
	}
	alive := time.NewTicker(c.cfg.KeepAlive)
	defer alive.Stop()
	_, changed := c.activity.next()
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
			if !c.cfg.Guard.Open(v.caller) || !send(": alive\n\n") {
				return
			}
		case <-changed:
			var revision uint64
			revision, changed = c.activity.next()
			if !send(fmt.Sprintf("event: changed\ndata: %d\n\n", revision)) {
				return
			}
			select { // what happens at once is told at once, and what follows a moment later together
			case <-r.Context().Done():
				return
			case <-time.After(quiet):
			}
		}
	}
}
