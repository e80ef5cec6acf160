package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// walker is a person in front of a page.
type walker struct {
	t *testing.T
	b *browser
	w *world
}

// reads wants the page to say this.
func (p walker) reads(what ...string) {
	p.t.Helper()
	text, err := p.b.text()
	must(p.t, err)
	for _, want := range what {
		if !strings.Contains(text, want) {
			p.t.Fatalf("the page does not say %q:\n%s", want, text)
		}
	}
}

// follow follows the first link or button whose text begins so.
func (p walker) follow(text string) {
	p.t.Helper()
	if err := p.b.follow("main a, main button, header a", text); err != nil {
		page, _ := p.b.text()
		p.t.Fatalf("%v\n%s", err, page)
	}
	quiet(p.t, p.b, "after "+text)
}

// confirm presses the button of a page that has said what it will do, with a comment.
func (p walker) confirm(comment string) {
	p.t.Helper()
	if comment != "" {
		must(p.t, p.b.do(chromedp.SendKeys(chromedp.CSS("#f-comment"), comment)))
	}
	must(p.t, p.b.press("#do"))
	quiet(p.t, p.b, "after the form was sent")
}

// From the page alone, a person finds out what happened to one mail, resolves an uncertain change, approves requests in
// bulk, brings back thirty events that were discarded, and repairs a script.
func TestWalk(t *testing.T) {
	t.Parallel()
	w, b := started(t)
	must(t, w.fill(t.Context(), hostileTitles))
	must(t, b.logIn("operator"))
	p := walker{t, b, w}

	p.reads("Needs you", "payments", "orders", "reports")
	p.follow("mail-to-books")
	p.follow("Invoice 2041 of Ann")
	p.reads("Invoice 2041 of Ann", "http.post", "/books", "/invoices")

	must(t, b.visit("/ui/needs"))
	p.reads("Uncertain changes", "Pay the rent of May")
	p.follow("It happened")
	p.reads("took effect")
	p.confirm("the bank has it")
	p.state("payments", "idle")
	if n := w.outside.called("/loses/payments"); n != 1 {
		t.Errorf("the payment was sent %d times", n)
	}

	must(t, b.visit("/ui/needs"))
	p.follow("Approve all")
	p.reads("exactly as it is recorded", "5")
	p.confirm("agreed with Ann")
	must(t, w.until(t.Context(), "the refunds are made", func() (bool, error) {
		return w.outside.called("/refunds") == 5, nil
	}))

	w.outside.recover()
	must(t, b.visit("/ui/needs"))
	p.reads("30 events")
	p.follow("Redrive")
	p.confirm("")
	must(t, w.until(t.Context(), "the orders are placed", func() (bool, error) {
		return w.outside.called("/refuses/orders") == 2*discarded, nil
	}))

	must(t, b.visit("/ui/needs"))
	p.follow("Repair the script")
	_, err := evaluate[bool](b, `!!(document.querySelector("input[name=version]").value = "0.9")`)
	must(t, err)
	p.script(strings.ReplaceAll(repairedReports, "HOST", w.outside.host()))
	must(t, b.press("button[value=repair]"))
	p.reads("Nothing was changed", "runs version 1.0, not 0.9")
	b.complaints() // of the answer 409
	must(t, b.visit("/ui/needs"))
	b.complaints() // Chromium says that it does not ask before it leaves a page that was not touched
	p.follow("Repair the script")
	p.repair(strings.ReplaceAll(repairedReports, "HOST", w.outside.host()))
	must(t, w.until(t.Context(), "the report is made", func() (bool, error) {
		return w.outside.called("/reports") == 1, nil
	}))
	p.state("reports", "idle")

	must(t, b.visit("/ui/needs"))
	p.reads("Nothing needs you")
}

// state waits until the workflow stands as it is said.
func (p walker) state(workflow, reason string) {
	p.t.Helper()
	must(p.t, p.w.awaitReason(p.t.Context(), workflow, reason))
}

// repair writes the script into the editor and sends it.
func (p walker) repair(source string) {
	p.t.Helper()
	p.script(source)
	must(p.t, p.b.press("button[value=repair]"))
	quiet(p.t, p.b, "after the repair")
}
