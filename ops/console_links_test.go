package ops

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/rpc"
)

// shows is the answer to the code of a link.
func (u *browser) shows(code string) *http.Response {
	res, _ := u.send("POST", "/login", url.Values{"code": {code}})
	return res
}

// A link that one node has made is taken by another one, with the role that it was made for, once: of two nodes that
// are shown it at the same time, one lets the browser in.
func TestLinkOfAnotherNode(t *testing.T) {
	t.Parallel()
	nodes := setupNodes(t, 2)
	for round := range 10 {
		var made createLoginAnswer
		nodes[0].do("createLogin", map[string]any{"role": "viewer"}, &made)
		_, code, _ := strings.Cut(made.URL, "#")
		shown := nodes
		if round == 0 {
			shown = nodes[1:] // not at its maker
		}
		answers := make([]*http.Response, len(shown))
		var all sync.WaitGroup
		for i, n := range shown {
			all.Go(func() {
				answers[i] = (&browser{bundle: n}).shows(code)
			})
		}
		all.Wait()
		let := 0
		for i, res := range answers {
			switch res.StatusCode {
			case http.StatusSeeOther:
				let++
				u := &browser{bundle: shown[i], cookie: res.Cookies()[0]}
				said := u.get(res.Header.Get("Location"))
				if !strings.Contains(said, `<span class="dim">viewer</span>`) {
					t.Errorf("the browser is no viewer:\n%s", said)
				}
			case http.StatusForbidden:
			default:
				t.Errorf("a node answers %d", res.StatusCode)
			}
		}
		if let != 1 {
			t.Errorf("round %d: the link has let in %d browsers", round, let)
		}
		for i, n := range nodes {
			if res := (&browser{bundle: n}).shows(code); res.StatusCode != http.StatusForbidden {
				t.Errorf("round %d: node %d takes a link that was used: %d", round, i+1, res.StatusCode)
			}
		}
	}
}

// A link is refused once its minute is over, and takes its maker's role and workflow along. What is no code, or one of
// another maker, opens nothing; the links of one credential are bounded, those of others stay.
func TestLinks(t *testing.T) {
	t.Parallel()
	links, now, ctx := auth.NewLinks(nil), time.Now(), t.Context()
	viewer := rpc.Caller{Role: rpc.Viewer, Workflow: "shop", Key: "token v", TokenHash: "h"}
	viewer.Actor.Name, viewer.Actor.Verified = "v", true
	make := func(as rpc.Caller) string {
		t.Helper()
		code, until, err := links.Make(ctx, as, now)
		if err != nil || !until.Equal(now.Add(auth.LinkLife)) {
			t.Fatal(until, err)
		}
		return code
	}
	take := func(code string, at time.Time, want bool) (as rpc.Caller) {
		t.Helper()
		as, ok, err := links.Take(ctx, code, at)
		if err != nil || ok != want {
			t.Errorf("%q is taken: %v, %v", code, ok, err)
		}
		return as
	}
	if got := take(make(viewer), now.Add(auth.LinkLife-1), true); got != viewer {
		t.Errorf("the browser is %+v, want %+v", got, viewer)
	}
	late := make(viewer)
	take(late, now.Add(auth.LinkLife), false)
	take(late, now, false) // and is used up
	admin := make(rpc.Caller{Role: rpc.Admin, Key: "local"})
	spy := make(viewer)
	take(spy[:len(spy)-16]+admin[len(admin)-16:], now, false)
	for _, no := range []string{"", "x", admin[:26], admin[1:], strings.Repeat("*", 42), admin + ".>",
		strings.Repeat("A", 1<<20)} {
		take(no, now, false)
	}
	first := make(viewer)
	for range 100 {
		make(viewer)
	}
	take(first, now, false)
	take(admin, now, true)
}
