package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// ticks are more runs than one step of a search looks at.
const ticks = 700

// A person gets to what lies far back: a search goes on by itself until it has found it, the log is read page by page
// into the past and back, a slider shows the workflow as it was, and a script is compared with what recorded runs did.
func TestDepth(t *testing.T) {
	t.Parallel()
	w, b := started(t)
	must(t, w.ask(t.Context(), http.MethodPost, "/v1/workflows",
		map[string]any{"source": tally, "filename": "tally.ts", "grants": map[string]string{"*": "allow"}}, nil))
	events := []event{{"needle", "the needle", map[string]any{"n": 100}}}
	must(t, w.push(t.Context(), "tally", "tick", events...))
	must(t, w.awaitReason(t.Context(), "tally", "idle"))
	events = nil
	for i := range ticks {
		events = append(events, event{fmt.Sprintf("tick-%d", i), fmt.Sprintf("tick %d", i), map[string]any{"n": 100 + i}})
	}
	for some := range slices.Chunk(events, 350) {
		must(t, w.push(t.Context(), "tally", "tick", some...))
	}
	must(t, w.awaitReason(t.Context(), "tally", "idle"))
	must(t, b.logIn("admin"))
	p := walker{t, b, w}

	const search = "/ui/workflows/tally/list/runs?q=the+needle"
	if first := fetch(t, w, search); !strings.Contains(first, "so far") || strings.Contains(first, "the needle</bdi>") {
		t.Errorf("the first answer has looked at all:\n%s", first)
	}
	must(t, b.visit(search))
	must(t, w.until(t.Context(), "the search has found it", func() (bool, error) {
		text, err := b.text()
		return strings.Contains(text, "the needle") && !strings.Contains(text, "so far"), err
	}))
	quiet(t, b, "searching")

	rows := func() []string {
		t.Helper()
		ids, err := evaluate[[]string](b, `[...document.querySelectorAll("#log > li")].map(row => row.id)`)
		must(t, err)
		return ids
	}
	newest := p.on("/ui/log?tail=50")
	first := rows()
	newest.follow("Older")
	second := rows()
	if len(first) != 50 || len(second) != 50 || slices.ContainsFunc(second, func(id string) bool {
		return slices.Contains(first, id)
	}) {
		t.Errorf("behind %d newest rows stand %d older ones: %q, %q", len(first), len(second), first, second)
	}
	p.follow("The newest")
	if again := rows(); !slices.Equal(again, first) {
		t.Errorf("the newest are %q, and were %q", again, first)
	}

	var now struct{ Revision int }
	must(t, w.ask(t.Context(), http.MethodGet, "/v1/workflows/tally", nil, &now))
	p.on("/ui/workflows/tally/state").reads(fmt.Sprintf("of %d, the present", now.Revision))
	must(t, b.do(chromedp.Focus(chromedp.CSS("#at")), chromedp.KeyEvent(kb.ArrowLeft)))
	must(t, w.until(t.Context(), "the page shows the revision before the last", func() (bool, error) {
		text, err := b.text()
		return strings.Contains(text, fmt.Sprintf("Revision %d of %d, recorded", now.Revision-1, now.Revision)) &&
			strings.Contains(text, "Newest runs then"), err
	}))
	quiet(t, b, "travelling")

	p.on("/ui/edit?workflow=tally").script(strings.Replace(tally, `"Count "`, `"Reckon "`, 1))
	p.follow("Compare")
	p.reads("What it would have done", "nothing was sent")
	quiet(t, b, "comparing")
}

// fetch is the first answer to a page, without what its scripts do afterwards.
func fetch(t *testing.T, w *world, path string) string {
	t.Helper()
	res, err := loggedIn(t, w).Get(w.url + path)
	must(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, res.Status)
	}
	return string(body)
}

// A page has something to say in its first answer, before any script of it runs: an empty installation says how to
// begin, and one with its first workflow shows that workflow, with what it does.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	w := empty(t)
	if said := fetch(t, w, "/"); !strings.Contains(said, "No workflow yet") || !strings.Contains(said, "pawl up") {
		t.Errorf("an empty installation says:\n%s", said)
	}
	must(t, w.deploy(t.Context(), "mail-to-books"))
	for _, want := range []string{"mail-to-books", "The last 24 hours", "inbox"} {
		if said := fetch(t, w, "/"); !strings.Contains(said, want) {
			t.Errorf("with its first workflow the page does not say %q:\n%s", want, said)
		}
	}
}
