package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/projections/readmodel"
)

// otherSide is every host that the recipes call.
type otherSide struct {
	*httptest.Server
	// answer may answer a request; otherwise it is answered with {}.
	answer answerFunc

	mu       sync.Mutex
	received []string // method, path with query, and body of what changes something
	asked    []string // path with query of reads
}

func (o *otherSide) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.Method == http.MethodGet {
		o.asked = append(o.asked, r.URL.RequestURI())
	} else {
		o.received = append(o.received, r.Method+" "+r.URL.RequestURI()+" "+string(body))
	}
	w.Header().Set("Content-Type", "application/json")
	if o.answer == nil || !o.answer(w, r.Method, r.URL.RequestURI(), string(body)) {
		fmt.Fprint(w, "{}")
	}
}

// answerFunc answers a request, or reports that it did not.
type answerFunc func(w http.ResponseWriter, method, path, body string) bool

// takeReceived is what was received since the last time.
func (o *otherSide) takeReceived() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	received := o.received
	o.received = nil
	return received
}

// recipe is a recipe of the authors' page as it runs in the real program, on a clock that the test moves.
type recipe struct {
	*daemon
	part     pagePart
	dir      string
	workflow string
	outside  *otherSide
}

// recipeStart is a Sunday, an hour before the recipes' working day begins in Berlin.
const recipeStart = "2026-03-01T06:00:00Z"

// recipeHosts are the hosts that the recipes call, and that the page configures.
var recipeHosts = []string{"api.example.com", "chat.example.com"}

// cook starts the recipe of the page with this number: its workflow must be without complaint, and what it calls is the
// server of the test instead of the hosts that the page names.
func cook(t *testing.T, number int, answer answerFunc, flags ...string) *recipe {
	t.Helper()
	parts := pageParts(t)
	i := slices.IndexFunc(parts, func(p pagePart) bool {
		return strings.HasPrefix(p.heading, fmt.Sprintf("%d. ", number))
	})
	if i < 0 {
		t.Fatalf("the page has no recipe %d", number)
	}
	return cookPart(t, parts[i], answer, flags...)
}

// cookPart starts the workflow of a part of the page.
func cookPart(t *testing.T, part pagePart, answer answerFunc, flags ...string) *recipe {
	t.Helper()
	long(t)
	t.Parallel()
	r := &recipe{part: part, outside: &otherSide{answer: answer}}
	code := r.part.code(t, "ts")
	if lines := strings.Count(code, "\n"); lines > 40 {
		t.Errorf("%q has %d lines: more than 40 are no recipe", part.heading, lines)
	}
	_, rest, _ := strings.Cut(code, `name: "`)
	r.workflow, _, _ = strings.Cut(rest, `"`)
	r.outside.Server = httptest.NewServer(r.outside)
	t.Cleanup(r.outside.Close)
	address := strings.TrimPrefix(r.outside.URL, "http://")
	for _, host := range recipeHosts {
		code = strings.ReplaceAll(code, "https://"+host, r.outside.URL)
	}
	if strings.Contains(code, "https://") {
		t.Errorf("%q calls a host that the page does not configure", part.heading)
	}
	r.dir = place(t, map[string]string{
		r.workflow + ".ts": code, "sheets/.keep": "", "box/out/sub/.keep": "",
		"pawl.yaml": "csv: ./sheets\nfiles: ./box\nclock: manual\nclock-start: " + recipeStart +
			"\nconnectors: {http: {hosts: {\"" + address + "\": {private: true}}}}\n",
	})
	out := mustRun(t, r.dir, 0, "pawl", "validate", r.workflow+".ts")
	if strings.Contains(out, "warning") && !strings.Contains(code, "ctx.counter.") { // which runs nowhere yet
		t.Errorf("%q is not without complaint:\n%s", part.heading, out)
	}
	if len(flags) == 0 {
		flags = []string{"up", r.workflow + ".ts"}
	}
	p := spawn(t, command(t, r.dir, "pawl", flags...))
	t.Cleanup(func() { // before the directory goes
		_ = p.cmd.Process.Kill()
		p.done.Wait()
		_ = p.cmd.Wait()
	})
	r.daemon = &daemon{p, t, ""}
	return r
}

// ready waits until the recipe is deployed and at rest.
func (r *recipe) ready() *recipe {
	r.t.Helper()
	r.daemon = answering(r.t, r.engineProcess)
	r.rest()
	return r
}

// push brings an event in and lets everything happen that follows.
func (r *recipe) push(topic, id string, payload any) {
	r.t.Helper()
	r.call(http.StatusOK, http.MethodPost, "/v1/workflows/"+r.workflow+"/topics/"+topic+"/events",
		map[string]any{"messageId": id, "title": topic + " " + id, "payload": payload})
	r.rest()
}

// wantReceived wants the outside to have received these changes since the last time.
func (r *recipe) wantReceived(want ...string) {
	r.t.Helper()
	if got := r.outside.takeReceived(); !slices.Equal(got, want) {
		r.t.Errorf("received %q\nwant %q\n%s", got, want, r.text())
	}
}

// wantEvents wants the events of a topic, each with its status.
func (r *recipe) wantEvents(topic string, want ...string) {
	r.t.Helper()
	var page readmodel.Page[readmodel.Event]
	r.get("/v1/workflows/"+r.workflow+"/events?topic="+topic, &page)
	var got []string
	for _, e := range page.Items {
		got = append(got, fmt.Sprintf("%s %s", e.MessageID, e.Status))
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("events of %s: %q, want %q\n%s", topic, got, want, r.text())
	}
}

// remembers is the state of a handler.
func (r *recipe) remembers(handler string) string {
	r.t.Helper()
	var page readmodel.Page[readmodel.Handler]
	r.get("/v1/workflows/"+r.workflow+"/handlers", &page)
	for _, h := range page.Items {
		if string(h.Name) == handler {
			return string(h.State)
		}
	}
	r.t.Fatalf("no handler is called %s", handler)
	return ""
}

// wantState wants what a handler remembers.
func (r *recipe) wantState(handler, want string) {
	r.t.Helper()
	if got := r.remembers(handler); got != want {
		r.t.Errorf("%s remembers %s, want %s", handler, got, want)
	}
}

// wantSheet wants the rows of a sheet, without the column in which the connector keeps its keys.
func (r *recipe) wantSheet(name string, want ...string) {
	r.t.Helper()
	var got []string
	for line := range strings.Lines(read(r.t, filepath.Join(r.dir, "sheets", name))) {
		i := strings.LastIndex(line, ",")
		got = append(got, line[:i])
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("rows %q, want %q", got, want)
	}
}

// does runs a command of the recipe.
func (r *recipe) does(line string) string {
	r.t.Helper()
	return mustRun(r.t, r.dir, 0, "sh", "-c", line)
}

// mutationIn finds the only mutation with a status.
func (r *recipe) mutationIn(status string) readmodel.Mutation {
	r.t.Helper()
	var page readmodel.Page[readmodel.Mutation]
	r.get("/v1/mutations?status="+status, &page)
	if len(page.Items) != 1 {
		r.t.Fatalf("%d mutations are %s, want one\n%s", len(page.Items), status, r.text())
	}
	return page.Items[0]
}
