package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// What is written in the editor stays: when another version is deployed, when the login ends and when the page is left.
func TestEditorKeepsWhatIsWritten(t *testing.T) {
	t.Parallel()
	w, b := started(t)
	must(t, w.deploy(t.Context(), "empty"))
	must(t, b.logIn("admin"))
	p := walker{t, b, w}
	const address = "/ui/edit?workflow=empty"
	asks := func(want bool) {
		t.Helper()
		got, err := evaluate[bool](b, `!dispatchEvent(new Event("beforeunload", {cancelable: true}))`)
		if err != nil || got != want {
			t.Errorf("the page asks before it is left: %t, want %t (%v)", got, want, err)
		}
	}
	holds := func(what string) {
		t.Helper()
		got, err := evaluate[string](b, `document.querySelector("textarea[name=source]").value + "|" +
			document.querySelector("input[name=version]").value + "|" + !!document.querySelector(".editor .cm-content") + "|" +
			document.querySelector("textarea[name=source]").hidden`)
		if err != nil || !strings.Contains(got, what) || !strings.HasSuffix(got, "|1.0|true|true") {
			t.Errorf("the editor holds %q, want %q of version 1.0 (%v)", got, what, err)
		}
	}

	p.on(address)
	must(t, b.do(chromedp.WaitVisible(chromedp.CSS(".cm-content"))))
	asks(false)
	must(t, b.do(chromedp.Focus(chromedp.CSS(".cm-content"))))
	must(t, b.write("// precious work\n"))
	must(t, w.until(t.Context(), "the text has the new line", func() (bool, error) {
		return evaluate[bool](b, `document.querySelector("textarea[name=source]").value.includes("precious")`)
	}))
	asks(true)

	// The login ends: in another tab while the script is sent, and by an admin while a person looks at it. What was
	// written is not lost with it, and what the page has shown of the engine goes.
	for what, end := range map[string]func(){
		"in another tab": func() {
			_, err := evaluate[bool](b, `fetch("/ui/logout", {method: "POST", body: new URLSearchParams({form:
				document.querySelector("form.who [name=form]").value})}).then(
				() => { setTimeout(() => document.querySelector("button[value=validate]").click()); return true; })`)
			must(t, err)
		},
		"by an admin": func() { endLogins(t, w) },
	} {
		end()
		must(t, w.until(t.Context(), "the page asks for a login, ended "+what, func() (bool, error) {
			text, err := b.text()
			return strings.Contains(text, "Log in") && strings.Contains(text, "kept in this tab") &&
				!strings.Contains(text, "empty"), err
		}))
		b.complaints() // of the answers 401
		must(t, b.logIn("admin"))
		p.reads("kept in this tab")
		p.on(address)
		must(t, b.do(chromedp.WaitVisible(chromedp.CSS(".cm-content"))))
		p.reads("what you had written")
		holds("// precious work")
		asks(true)
	}

	// Something is deployed elsewhere: it is said, and changes nothing here.
	source := strings.ReplaceAll(workflows["empty"], "HOST", w.outside.host()) + "\n// theirs\n"
	must(t, w.ask(t.Context(), http.MethodPost, "/v1/workflows", map[string]any{"source": source,
		"filename": "empty.ts"}, nil))
	must(t, w.until(t.Context(), "the page tells of the other version", func() (bool, error) {
		text, err := b.text()
		return strings.Contains(text, "Version 2.0 runs now"), err
	}))
	holds("// precious work")

	// After a deploy there is nothing left to keep.
	p.on("/ui/edit")
	b.complaints() // Chromium does not ask before a page is left that was not touched, and says so
	p.script(strings.ReplaceAll(strings.Replace(workflows["empty"], `"empty"`, `"mine"`, 1), "HOST",
		w.outside.host()))
	p.follow("Deploy")
	p.reads("Deployed: version 1.0 runs now")
	p.on("/ui/edit")
	p.lacks("what you had written")
	asks(false)
	quiet(t, b, "at the end")
}

// endLogins ends all logins, as an admin does.
func endLogins(t *testing.T, w *world) {
	t.Helper()
	var logins struct{ Items []struct{ ID string } }
	must(t, w.ask(t.Context(), http.MethodGet, "/v1/logins", nil, &logins))
	if len(logins.Items) == 0 {
		t.Fatal("no browser is logged in")
	}
	for _, l := range logins.Items {
		must(t, w.ask(t.Context(), http.MethodDelete, "/v1/logins/"+l.ID, nil, nil))
	}
}

// What a page has shown goes away when its login is ended, without a touch of the person who looks at it.
func TestPagesEndWithTheirLogin(t *testing.T) {
	t.Parallel()
	w, b := started(t)
	must(t, w.deploy(t.Context(), "mail-to-books"))
	must(t, w.push(t.Context(), "mail-to-books", "mail", event{"m-1", "Secret order of Zoe", map[string]any{"total": 1}}))
	must(t, b.logIn("viewer"))
	for _, path := range []string{"/ui/workflows/mail-to-books", "/ui/workflows/mail-to-books/log"} {
		must(t, b.visit(path))
		endLogins(t, w)
		must(t, w.until(t.Context(), path+" asks for a login", func() (bool, error) {
			text, err := b.text()
			return strings.Contains(text, "pawl open") && !strings.Contains(text, "mail-to-books"), err
		}))
		must(t, b.logIn("viewer"))
	}
}
