package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A viewer finds no way to change anything, and each link that is there leads to a page. Then an admin does all that
// the walk does not do, and each action has come to what it said it would.
func TestActions(t *testing.T) {
	t.Parallel()
	w, b := started(t)
	must(t, w.fill(t.Context(), hostileTitles))
	p := walker{t, b, w}
	t.Run("viewer", func(t *testing.T) {
		must(t, b.logIn("viewer"))
		views, err := b.views()
		must(t, err)
		quiet(t, b, "following the links of a viewer")
		if len(views) < 15 {
			t.Errorf("a viewer finds %d views only", len(views))
		}
		for name, path := range views {
			if strings.HasPrefix(name, "act") || strings.HasPrefix(name, "edit") {
				t.Errorf("a viewer is led to %s", path)
			}
			must(t, b.visit(path))
			n, err := evaluate[int](b, `document.querySelectorAll("main form[method=post]").length`)
			if err != nil || n > 0 {
				t.Errorf("%s has %d forms for a viewer (%v)", path, n, err)
			}
		}
		must(t, b.press("form.who button"))
	})
	must(t, b.logIn("admin"))

	// Workflows: pause and resume, run now, archive.
	p.on("/ui/workflows/newsletter").follow("Resume…")
	p.confirm("")
	p.reads("Done: resume")
	p.is("newsletter", "active")
	p.follow("Pause…")
	p.confirm("")
	p.is("newsletter", "paused")
	runs := p.count("/v1/workflows/mail-to-books/runs?handler=inbox&limit=1000")
	p.on("/ui/workflows/mail-to-books").follow("Run now…")
	p.confirm("")
	must(t, w.until(t.Context(), "the producer has run", func() (bool, error) {
		return p.count("/v1/workflows/mail-to-books/runs?handler=inbox&limit=1000") == runs+1, nil
	}))
	p.on("/ui/workflows/empty").lacks("Run now…")
	p.follow("Archive…")
	p.reads("This cannot be undone")
	p.confirm("")
	p.is("empty", "archived")

	// Events: one is brought back and put aside again, then all of them, with progress; what waits is skipped.
	p.on("/ui/workflows/orders/events/placed/order-1").follow("Redrive…")
	p.confirm("")
	must(t, w.until(t.Context(), "the order is refused again", func() (bool, error) {
		return w.outside.called("/refuses/orders") == discarded+1, nil
	}))
	p.state("orders", "idle")
	p.on("/ui/needs").follow("Redrive…")
	p.confirm("")
	p.reads("Redrive of 30 events")
	said := ""
	err := w.until(t.Context(), "the page shows all as over", func() (over bool, err error) {
		said, err = b.text()
		return strings.Contains(said, "30 of 30 are over") && strings.Contains(said, "30 discarded"), err
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	p.on("/ui/workflows/orders/list/jobs?state=completed").lacks("Skip…") // they have ended already
	p.on("/ui/workflows/orders/list/jobs?state=discarded").follow("Skip…")
	p.confirm("")
	if n := p.count("/v1/workflows/orders/jobs?state=discarded"); n != 0 {
		t.Errorf("%d orders are discarded still", n)
	}
	p.on("/ui/workflows/reports/events/raw/r-1").follow("Skip…")
	p.confirm("")
	if n := p.count("/v1/workflows/reports/jobs?state=cancelled"); n != 1 {
		t.Errorf("%d reports are skipped", n)
	}
	p.on("/ui/workflows/newsletter/list/jobs?state=available").follow("Skip…")
	p.reads("1 in all")
	p.confirm("")
	if n := p.count("/v1/workflows/newsletter/jobs?state=cancelled"); n != 1 {
		t.Errorf("%d issues are skipped", n)
	}

	// Calls: one request is rejected, two that were chosen are approved, and no other.
	p.on("/ui/needs").follow("Reject…")
	p.confirm("not this one")
	must(t, b.visit("/ui/needs"))
	_, err = evaluate[bool](b, `[...document.querySelectorAll("input[name=item]")].slice(0, 2).
		forEach(e => e.click()), true`)
	must(t, err)
	p.follow("Approve chosen…")
	p.reads("2 in all")
	p.confirm("")
	must(t, w.until(t.Context(), "two refunds are made", func() (bool, error) {
		return w.outside.called("/refunds") == 2, nil
	}))
	if n := p.count("/v1/mutations?held=approval"); n != 2 {
		t.Errorf("%d requests still wait", n)
	}
	p.on("/ui/needs").follow("It did not happen…")
	p.confirm("the bank has none")
	must(t, w.until(t.Context(), "the payment is sent again", func() (bool, error) {
		return w.outside.called("/loses/payments") == 2, nil
	}))
	p.state("payments", "indeterminate")
	p.on("/ui/needs").follow("Skip it…")
	p.confirm("")
	p.state("payments", "idle")

	// The system: a token is shown once and revoked, a login of another browser is ended, a hook is tried, a grant is
	// changed.
	must(t, b.visit("/ui/system"))
	must(t, b.do(chromedp.SendKeys(chromedp.CSS("#t-name"), "robot")))
	p.follow("Make a token")
	p.reads("It is shown this once", "PAWL_TOKEN")
	p.on("/ui/system").follow("Revoke…")
	p.confirm("")
	if n := p.count("/v1/tokens"); n != 0 {
		t.Errorf("%d tokens are left", n)
	}
	second := loggedIn(t, w)
	p.on("/ui/system").follow("End it…")
	p.confirm("")
	p.reads("Done: end the login", "this browser")
	res, err := second.Get(w.url + "/ui/needs")
	must(t, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a login that was ended is answered %d", res.StatusCode)
	}
	events := p.count("/v1/workflows/newsletter/events")
	p.on("/ui/system").follow("Make a signed sample")
	p.reads("A sample was made, and not sent")
	must(t, b.visit("/ui/system"))
	must(t, b.do(chromedp.SendKeys(chromedp.CSS(`textarea[name=body]`), `{"id": "i-2"}`)))
	p.follow("Make and send it")
	p.reads("It was answered with 20")
	if n := p.count("/v1/workflows/newsletter/events"); n != events+1 {
		t.Errorf("the newsletter has %d events", n)
	}
	must(t, b.visit("/ui/workflows/refunds/state"))
	must(t, b.do(chromedp.SetValue(chromedp.CSS(`form:has(input[value="http.post"]) select`), "allow")))
	must(t, b.press(`form:has(input[value="http.post"]) button`))
	p.reads("Done: refunds is now allowed http.post")

	// Scripts: what is wrong is said at its line, and what is right is deployed; time travel shows what was.
	p.on("/ui/edit").script(strings.Replace(workflows["empty"], `"empty"`, `"made-here"`, 1) + "\n;;;)")
	p.follow("Check")
	p.reads("A deploy would be refused")
	p.on("/ui/edit").reads("This is what you had written and not deployed")
	b.mu.Lock()
	asked := b.asked
	b.mu.Unlock()
	if asked != 1 {
		t.Errorf("the editor has asked %d times whether it may be left", asked)
	}
	p.script(strings.Replace(workflows["empty"], `"empty"`, `"made-here"`, 1))
	p.follow("Deploy")
	p.reads("Deployed: version 1.0 runs now")
	p.is("made-here", "active")
	p.on("/ui/workflows/newsletter/state?at=1").reads("Revision 1 of", "Newest runs then", "send")
	quiet(t, b, "at the end")
}

// on opens a page.
func (p walker) on(path string) walker {
	p.t.Helper()
	must(p.t, p.b.visit(path))
	return p
}

// lacks wants the page not to say this.
func (p walker) lacks(what string) {
	p.t.Helper()
	text, err := p.b.text()
	must(p.t, err)
	if strings.Contains(text, what) {
		p.t.Errorf("the page says %q:\n%s", what, text)
	}
}

// is wants the workflow to have the status.
func (p walker) is(workflow, status string) {
	p.t.Helper()
	var is struct{ Status string }
	must(p.t, p.w.ask(p.t.Context(), http.MethodGet, "/v1/workflows/"+workflow, nil, &is))
	if is.Status != status {
		p.t.Errorf("%s is %s, want %s", workflow, is.Status, status)
	}
}

// count is how many items the first page of a list has.
func (p walker) count(list string) int {
	p.t.Helper()
	var found struct{ Items []any }
	must(p.t, p.w.ask(p.t.Context(), http.MethodGet, list, nil, &found))
	return len(found.Items)
}

// script writes the script into the editor, as if it were pasted.
func (p walker) script(source string) {
	p.t.Helper()
	all := chromedp.KeyModifiers(chromedp.ModifierCtrl)
	must(p.t, p.b.do(chromedp.WaitVisible(chromedp.CSS(".cm-content")), chromedp.Focus(chromedp.CSS(".cm-content")),
		chromedp.KeyEvent("a", all), chromedp.KeyEvent(kb.Backspace)))
	must(p.t, p.b.write(source))
	written, err := evaluate[string](p.b, `document.querySelector("textarea[name=source]").value`)
	must(p.t, err)
	if strings.TrimSpace(written) != strings.TrimSpace(source) {
		p.t.Fatalf("the editor holds:\n%s", written)
	}
}
