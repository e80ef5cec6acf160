package main

import (
	"flag"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	historyRuns = flag.Int("history.runs", 1000, "how many runs of history TestLongHistory makes; 1,000,000 to measure")
	historyAsks = flag.Int("history.asks", 20, "how often TestLongHistory asks for each page; 40 to measure")
	historyData = flag.String("history.data", "", "folder that keeps the history; a temporary one if empty")
	slowest     = flag.Duration("history.slowest", 3*time.Second,
		"what the 95th percentile of each page may last, on a machine that does other things; 300ms to measure")
)

// tally counts its events: a run for each, without a call. The first of them are bad, and put aside.
const tally = `
export default Pawl.workflow({
  name: "tally",
  topics: { "tick": {} },
  consumers: { count: Pawl.consumer({
    subscribe: ["tick"], concurrency: 16, maxAttempts: 0,
    async prepare(ctx) {
      const [e] = await ctx.peek("tick");
      if (e.payload.n < 30) throw new Error("a bad tick");
      return { reservations: [{ topic: "tick", ids: [e.messageId] }], data: e.payload, ui: { title: "Count " + e.title } };
    },
    async next(ctx) {},
  }) },
});`

// Each page is made in time at the 95th percentile, also with a long history. The time is that from the request to the
// last byte of the answer. To measure, on a machine that does nothing else, with a history that is made once:
//
//	go test ./cmd/screenshots -run TestLongHistory -v -timeout 2h \
//	  -history.runs 1000000 -history.data DIR -history.asks 40 -history.slowest 300ms
func TestLongHistory(t *testing.T) {
	dir := *historyData
	if dir == "" {
		dir = t.TempDir()
	}
	must(t, os.MkdirAll(dir, 0o755))
	w, err := newWorld(t.Context(), program(t), dir)
	t.Cleanup(w.close)
	must(t, err)
	b := opened(t, w)
	n := *historyRuns
	var known struct{ Items []struct{ Name string } }
	must(t, w.ask(t.Context(), http.MethodGet, "/v1/workflows", nil, &known))
	if len(known.Items) == 0 {
		history(t, w, n)
	}
	measure(t, w, b)
}

// history makes a workflow with so many runs, beside those in every state.
func history(t *testing.T, w *world, n int) {
	t.Helper()
	must(t, w.fill(t.Context(), hostileTitles))
	must(t, w.ask(t.Context(), http.MethodPost, "/v1/workflows",
		map[string]any{"source": tally, "filename": "tally.ts", "grants": map[string]string{"*": "allow"}}, nil))
	begun := time.Now()
	for at := 0; at < n; at += 500 {
		var events []event
		for i := at; i < min(at+500, n); i++ {
			events = append(events, event{fmt.Sprintf("tick-%d", i), fmt.Sprintf("tick %d", i), map[string]any{"n": i}})
		}
		must(t, w.until(t.Context(), "the backlog takes more", func() (bool, error) {
			err := w.push(t.Context(), "tally", "tick", events...)
			if err != nil && strings.Contains(err.Error(), "backlog.full") {
				return false, nil
			}
			return err == nil, err
		}))
	}
	for done := false; !done; { // as long as it takes
		err := w.awaitReason(t.Context(), "tally", "idle")
		if done = err == nil; !done && !strings.Contains(err.Error(), "deadline") {
			t.Fatal(err)
		}
	}
	t.Logf("%d runs after %s", n, time.Since(begun).Round(time.Second))
}

// measure asks for each page, and for what is rare in each list, again and again.
func measure(t *testing.T, w *world, b *browser) {
	t.Helper()
	must(t, b.logIn("admin"))
	views, err := b.views()
	must(t, err)
	var now struct{ Revision int }
	must(t, w.ask(t.Context(), http.MethodGet, "/v1/workflows/tally", nil, &now))
	of := "/ui/workflows/tally"
	for name, path := range map[string]string{
		"rare event": of + "/list/events?q=no+such+text", "rare job": of + "/list/jobs?q=no+such+text",
		"rare run": of + "/list/runs?q=no+such+text", "discarded": of + "/list/jobs?state=discarded",
		"waiting": of + "/list/jobs?state=retryable", "rare fact": of + "/log?type=workflow.paused",
		"rare fact of all": "/ui/log?type=workflow.resumed", "rare input": of + "?in_status=skipped&out_status=failed",
		"past, the beginning": of + "/state?at=1", "past, the middle": fmt.Sprintf("%s/state?at=%d", of, now.Revision/2),
		"past, the end":    fmt.Sprintf("%s/state?at=%d", of, now.Revision-1),
		"jobs, the oldest": of + "/list/jobs?order=asc", "runs, the oldest": of + "/list/runs?order=asc",
		"events of yesterday": of + "/list/events?since=yesterday&until=today",
		"a filter and a text": of + "/list/jobs?state=completed&topic=tick&q=tick+777777",
		"log, far back":       fmt.Sprintf("%s/log?before=0:%d", of, now.Revision/3),
	} {
		views[name] = path
	}
	client := loggedIn(t, w)
	for _, name := range slices.Sorted(maps.Keys(views)) {
		var lasted []time.Duration
		ask := func(path string) (next string) {
			sent := time.Now()
			res, err := client.Get(w.url + path)
			must(t, err)
			body, err := io.ReadAll(res.Body)
			must(t, err)
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", path, res.Status)
			}
			lasted = append(lasted, time.Since(sent))
			if step := goesOn.FindSubmatch(body); step != nil {
				next = html.UnescapeString(string(step[1]))
			}
			return next
		}
		begun, steps := time.Now(), 0
		for path := views[name]; ; steps++ { // a search, and a way into the past, go on until they end
			next := ask(path)
			if next == "" {
				break
			}
			if path = next; strings.HasPrefix(next, "?") {
				path, _, _ = strings.Cut(views[name], "?")
				path += next
			}
		}
		if steps > 0 {
			t.Logf("%s has ended after %d steps, %s", name, steps+1, time.Since(begun).Round(time.Millisecond))
		}
		for range *historyAsks {
			ask(views[name])
		}
		slices.Sort(lasted)
		p95 := lasted[len(lasted)*95/100]
		t.Logf("%-40s p50 %8s  p95 %8s  most %8s of %d", name, lasted[len(lasted)/2].Round(100*time.Microsecond),
			p95.Round(100*time.Microsecond), lasted[len(lasted)-1].Round(100*time.Microsecond), len(lasted))
		if p95 > *slowest {
			t.Errorf("%s takes %s at the 95th percentile, want at most %s", views[name], p95, *slowest)
		}
	}
}

// goesOn is what a page asks for by itself, since it has not come to its end.
var goesOn = regexp.MustCompile(`(?s)(?:class="goon"[^>]*|id="folding" )hx-get="([^"]+)"`)

// loggedIn is a client with a login, without a browser's own work.
func loggedIn(t *testing.T, w *world) *http.Client {
	t.Helper()
	link, err := w.link(t.Context(), "admin")
	must(t, err)
	jar, err := cookiejar.New(nil)
	must(t, err)
	client := &http.Client{Jar: jar, Transport: pageRequests{}}
	page, code, _ := strings.Cut(link, "#")
	res, err := client.PostForm(page, url.Values{"code": {code}})
	must(t, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("log in: %s", res.Status)
	}
	return client
}

// pageRequests asks as a browser does that opens a page.
type pageRequests struct{}

func (pageRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Origin", "http://"+r.URL.Host)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return http.DefaultTransport.RoundTrip(r)
}
