package ops

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// A page on which something is confirmed or written stays what it was when it was opened, and what its form sends is
// what was shown: what comes in meanwhile is not acted on.
func TestConfirmationsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAsk)
	b.deploy("calm", "send", eventlog.GrantAsk)
	b.push("shop", "o-1")
	b.push("calm", "o-1")
	b.engine.Rest("shop")
	b.engine.Rest("calm")
	u := b.browse(testToken, "")
	updates := regexp.MustCompile(`<main[^>]* hx-get=`)
	for path, want := range map[string]bool{
		"/": true, "/ui/needs": true, "/ui/workflows/shop": true, "/ui/edit": false, "/ui/edit?workflow=shop": false,
		"/ui/act/approveMutations?held=approval": false, "/ui/act/pauseWorkflow?workflow=shop": false,
	} {
		if got := updates.MatchString(u.get(path)); got != want {
			t.Errorf("%s brings itself up to date: %t", path, got)
		}
	}
	res, body := u.send("POST", "/ui/deploy", url.Values{"form": {u.form()}, "do": {"validate"}, "source": {"x"}})
	if res.StatusCode != http.StatusOK || updates.MatchString(body) {
		t.Errorf("what answers a form asks for its address: %d\n%s", res.StatusCode, body)
	}
	shown := u.get("/ui/act/approveMutations?held=approval")
	b.deploy("evil", "send", eventlog.GrantAsk)
	b.push("evil", "o-evil")
	b.engine.Rest("evil")
	form := url.Values{}
	for _, m := range hiddenInput.FindAllStringSubmatch(shown[strings.Index(shown, "<main"):], -1) {
		form.Add(html.UnescapeString(m[1]), html.UnescapeString(m[2]))
	}
	if len(form["items"]) != 2 {
		t.Fatalf("the form has %q", form["items"])
	}
	res, _ = u.send("POST", "/ui/act/approveMutations", form)
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("approve: %d", res.StatusCode)
	}
	var m readmodel.Mutation
	b.do("getMutation", map[string]any{"mutation": b.only("evil")}, &m)
	if m.Status != eventlog.MutationStatusAwaitingApproval {
		t.Errorf("what came in meanwhile is %s", m.Status)
	}
	if res, body := u.send("GET", "/ui/act/pauseWorkflow", nil); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a page about no workflow: %d\n%s", res.StatusCode, body)
	}
}

// The page of an editor is told that another version runs, and keeps its own.
func TestEditorIsToldOfAnotherVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAsk)
	u := b.browse(testToken, "")
	newer := regexp.MustCompile(`hx-get="(/ui/newer[^"]*)"`).FindStringSubmatch(u.get("/ui/edit?workflow=shop"))
	if newer == nil {
		t.Fatal("the editor does not ask")
	}
	ask := html.UnescapeString(newer[1])
	if said := u.get(ask); said != "" {
		t.Errorf("nothing was deployed: %s", said)
	}
	b.do("deployWorkflow", map[string]any{"source": orders("shop", "send") + "\n// newer\n"}, nil)
	if said := u.get(ask); !strings.Contains(said, "Version 2.0 runs now") {
		t.Errorf("after a deploy: %s", said)
	}
}

// A browser sends the lines of a text with CRLF: what was not changed is deployed as no change, and what was changed
// has the line ends of the script that runs.
func TestLineEndsStay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("unix", "send", eventlog.GrantAsk)
	dos := strings.ReplaceAll(orders("dos", "send"), "\n", "\r\n")
	mixed := strings.Replace(orders("mixed", "send"), "\n", "\r\n", 1)
	b.do("deployWorkflow", map[string]any{"source": dos}, nil)
	b.do("deployWorkflow", map[string]any{"source": mixed}, nil)
	u := b.browse(testToken, "")
	runs := func(name string) string {
		var s readmodel.Script
		b.do("getSource", map[string]any{"workflow": name}, &s)
		return s.Source
	}
	for name, ends := range map[string]string{"unix": "\n", "dos": "\r\n", "mixed": "\n"} {
		was := runs(name)
		sent := strings.ReplaceAll(strings.ReplaceAll(was, "\r\n", "\n"), "\n", "\r\n")
		deploy := func(source, version string) string {
			res, body := u.send("POST", "/ui/deploy", url.Values{"form": {u.form()}, "do": {"deploy"}, "workflow": {name},
				"version": {version}, "filename": {name + ".ts"}, "source": {source}})
			if res.StatusCode != http.StatusSeeOther {
				t.Fatalf("deploy %s: %d\n%s", name, res.StatusCode, body)
			}
			return u.get(res.Header.Get("Location"))
		}
		if said := deploy(sent, "1.0"); !strings.Contains(said, "these bytes run already") || runs(name) != was {
			t.Errorf("%s is deployed anew unchanged:\n%q\nwas\n%q", name, runs(name), was)
		}
		deploy(sent+"// more\r\n", "1.0")
		if want := strings.ReplaceAll(sent+"// more\r\n", "\r\n", ends); runs(name) != want {
			t.Errorf("%s with another line is\n%q\nwant\n%q", name, runs(name), want)
		}
	}
	form := url.Values{"form": {u.form()}, "do": {"deploy"}, "filename": {"new.ts"},
		"source": {strings.ReplaceAll(orders("fresh", "send"), "\n", "\r\n")}}
	if res, body := u.send("POST", "/ui/deploy", form); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("deploy a new one: %d\n%s", res.StatusCode, body)
	}
	if got := runs("fresh"); got != orders("fresh", "send") {
		t.Errorf("a new script is %q", got)
	}
}

// An event that is nested deep costs the pages that show it no more than another of its length.
func TestDeepPayloadIsShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAsk)
	deep := strings.Repeat("[", 500) + strings.Repeat("]", 500)
	b.do("pushEvents", map[string]any{"workflow": "shop", "topic": "order.in", "events": []map[string]any{
		{"messageId": "deep", "title": "x", "payload": json.RawMessage(deep)}}}, nil)
	u := b.browse(testToken, "")
	for path, most := range map[string]int{"/ui/workflows/shop/events/order.in/deep": 40 << 10,
		"/ui/workflows/shop/log": 200 << 10} {
		if body := u.get(path); len(body) > most || !strings.Contains(body, "[[[[") {
			t.Errorf("%s has %d bytes", path, len(body))
		}
	}
}

// A user has one share of the places of all who look on, however many browsers are logged in; the rows of the log take
// their place before they are read.
func TestUserHasOneShareOfPlaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var token createTokenAnswer
	b.do("createToken", map[string]any{"name": "spy", "role": "viewer"}, &token)
	one, two, other := b.browse(token.Token, ""), b.browse(token.Token, ""), b.browse(testToken, "")
	var leaves []func()
	for {
		caller, _, p := b.server.guard.Browser(withCookie(t, one))
		if p != nil {
			t.Fatal(p)
		}
		leave, p := b.server.followers.Take(caller)
		if p != nil {
			break
		}
		leaves = append(leaves, leave)
	}
	for _, path := range []string{"/ui/live", "/ui/live/log?from=0:1"} {
		if res, body := two.send("GET", path, nil); res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("%s of a second browser: %d %s", path, res.StatusCode, body)
		}
	}
	caller, _, _ := b.server.guard.Browser(withCookie(t, other))
	if leave, p := b.server.followers.Take(caller); p != nil {
		t.Errorf("another user: %v", p)
	} else {
		leave()
	}
	for _, leave := range slices.Backward(leaves) {
		leave()
	}
}

// withCookie is a request that shows the login of the browser.
func withCookie(t *testing.T, u *browser) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", u.http.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(u.cookie)
	return r
}

// One caller's links push out none of another's.
func TestLinksAreBoundedByCaller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var token createTokenAnswer
	b.do("createToken", map[string]any{"name": "spy", "role": "viewer"}, &token)
	var made createLoginAnswer
	b.do("createLogin", nil, &made)
	spy := *b.client
	spy.Token = token.Token
	var first, last createLoginAnswer
	for n := range 101 {
		into := &last
		if n == 0 {
			into = &first
		}
		if err := spy.Do(t.Context(), "createLogin", nil, into); err != nil {
			t.Fatal(err)
		}
	}
	u := &browser{bundle: b}
	for link, want := range map[string]int{made.URL: http.StatusSeeOther, first.URL: http.StatusForbidden,
		last.URL: http.StatusSeeOther} {
		_, code, _ := strings.Cut(link, "#")
		if res, _ := u.send("POST", "/login", url.Values{"code": {code}}); res.StatusCode != want {
			t.Errorf("a link: %d, want %d", res.StatusCode, want)
		}
	}
}
