package csv

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// A change waits for the reads before it alone: those that come later wait for it. One that gives up lets them in.
func TestReadsThatOverlapDoNotKeepAChangeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := locks{of: map[string]*lock{}}
		got := make(chan string, 3)
		take := func(ctx context.Context, who string, alone bool) (release func()) {
			release, failure := l.take(ctx, connector.Call{}, "a.csv", alone)
			if failure == nil {
				got <- who
			} else if failure.Code != eventlog.CodeHeldBack {
				t.Errorf("%s: %v", who, failure)
			}
			return release
		}
		want := func(who string) {
			t.Helper()
			synctest.Wait()
			select {
			case first := <-got:
				if first != who {
					t.Errorf("%s has the file, want %s", first, who)
				}
			default:
				if who != "" {
					t.Errorf("nothing has the file, want %s", who)
				}
			}
		}
		first := take(t.Context(), "first read", false)
		want("first read")
		changed, later := make(chan func(), 1), make(chan func(), 1)
		go func() { changed <- take(t.Context(), "change", true) }()
		want("")
		go func() { later <- take(t.Context(), "later read", false) }()
		want("")
		first()
		want("change")
		(<-changed)()
		want("later read")

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go take(ctx, "change that gives up", true)
		want("")
		go func() { later <- take(t.Context(), "last read", false) }()
		want("")
		<-ctx.Done()
		want("last read")
		(<-later)()
		(<-later)()
		if len(l.of) != 0 {
			t.Errorf("%d files are left", len(l.of))
		}
	})
}
