package ops

import (
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/rpc"
)

// browser is a user's browser: it keeps its cookie, and what the next page says, and follows no redirects.
type browser struct {
	*bundle
	cookie *http.Cookie
	notes  map[string]string // cookies by their names
}

// browse logs a browser in with a link that the token has made; the role may be less than the token's.
func (b *bundle) browse(token, role string) *browser {
	b.t.Helper()
	client := *b.client
	client.Token = token
	params := map[string]any{}
	if role != "" {
		params["role"] = role
	}
	var made createLoginAnswer
	if err := client.Do(b.t.Context(), "createLogin", params, &made); err != nil {
		b.t.Fatal(err)
	}
	_, code, _ := strings.Cut(made.URL, "#")
	u := &browser{bundle: b, notes: map[string]string{}}
	res, body := u.send("POST", "/login", url.Values{"code": {code}})
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		b.t.Fatalf("log in: %d %v\n%s", res.StatusCode, res.Cookies(), body)
	}
	u.cookie = res.Cookies()[0]
	return u
}

// send is a request as a browser makes it; pairs are further headers.
func (u *browser) send(method, path string, form url.Values, pairs ...string) (*http.Response, string) {
	u.t.Helper()
	req, err := http.NewRequestWithContext(u.t.Context(), method, u.http.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		u.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", u.http.URL)
	}
	if u.cookie != nil {
		req.AddCookie(u.cookie)
	}
	for name, value := range u.notes {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	for i := 0; i < len(pairs); i += 2 {
		req.Header.Set(pairs[i], pairs[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		u.t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		switch {
		case u.notes == nil || !strings.HasPrefix(c.Name, "pawl_note_"):
		case c.MaxAge < 0:
			delete(u.notes, c.Name)
		default:
			u.notes[c.Name] = c.Value
		}
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	return res, string(text)
}

// get shows a page, which must be there.
func (u *browser) get(path string) string {
	u.t.Helper()
	res, body := u.send("GET", path, nil)
	if res.StatusCode != http.StatusOK {
		u.t.Fatalf("GET %s: %d\n%s", path, res.StatusCode, body)
	}
	return body
}

var formField = regexp.MustCompile(`name="form" value="([0-9a-f]{32})"`)

// form is what the forms of the browser's pages carry.
func (u *browser) form() string {
	u.t.Helper()
	m := formField.FindStringSubmatch(u.get("/"))
	if m == nil {
		u.t.Fatal("the page has no form")
	}
	return m[1]
}

// A link logs a browser in once, within a minute, with at most its maker's role; the cookie can be read by no script
// and sent by no other site.
func TestLoginLink(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := &browser{bundle: b}
	res, body := u.send("GET", "/", nil)
	if res.StatusCode != http.StatusUnauthorized || !strings.Contains(body, "pawl open") {
		t.Errorf("without a login: %d\n%s", res.StatusCode, body)
	}
	var made createLoginAnswer
	b.do("createLogin", nil, &made)
	link, code, _ := strings.Cut(made.URL, "#")
	if !strings.HasSuffix(link, "/login") || len(code) < 26 {
		t.Fatalf("the link is %s", made.URL)
	}
	if left := time.Until(made.ExpiresAt.Time()); left > auth.LinkLife || left < auth.LinkLife-30*time.Second {
		t.Errorf("the link lasts %s", left)
	}
	// Whatever only looks at the link does not use it up.
	u.send("GET", "/login", nil)
	for n, want := range []int{http.StatusSeeOther, http.StatusForbidden} {
		res, _ := u.send("POST", "/login", url.Values{"code": {code}})
		if res.StatusCode != want {
			t.Errorf("use %d: %d, want %d", n+1, res.StatusCode, want)
		}
		if n == 0 {
			u.cookie = res.Cookies()[0]
		}
	}
	if c := u.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.MaxAge <= 0 ||
		!strings.HasPrefix(c.Name, "pawl_") {
		t.Errorf("the cookie is %+v", c)
	}
	if body := u.get("/"); !strings.Contains(body, "ann") || !strings.Contains(body, "No workflow yet") {
		t.Errorf("home does not greet its user:\n%s", body)
	}
	// The API knows no cookies, and the browser's secret is no token.
	if res, _ := u.send("GET", "/v1/workflows", nil); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the API with a cookie: %d", res.StatusCode)
	}
	res, _ = u.send("POST", "/ui/logout", url.Values{"form": {u.form()}})
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("log out: %d", res.StatusCode)
	}
	if res, _ := u.send("GET", "/", nil); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("after logging out: %d", res.StatusCode)
	}
}

// The first page is there for browsers only: programs are answered as before.
func TestHomeIsForBrowsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	res, body := b.request("GET", "/", "")
	if res.StatusCode != http.StatusNotFound || mustJSON(t, body)["code"] != "path.unknown" {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

// What a login may do ends with the token that it was made with.
func TestLoginEndsWithItsToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var token createTokenAnswer
	b.do("createToken", map[string]any{"name": "eve", "role": "operator"}, &token)
	u := b.browse(token.Token, "")
	if body := u.get("/"); !strings.Contains(body, "eve") || !strings.Contains(body, "operator") {
		t.Errorf("the page does not say who is logged in:\n%s", body)
	}
	client := *b.client
	client.Token = token.Token
	var p *rpc.Problem
	if err := client.Do(t.Context(), "createLogin", map[string]any{"role": "admin"}, nil); !errors.As(err, &p) ||
		p.Code != "role.insufficient" {
		t.Errorf("a link with more than its maker's role: %v", err)
	}
	b.do("revokeToken", map[string]any{"name": "eve"}, nil)
	if res, _ := u.send("GET", "/", nil); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("after the revocation: %d", res.StatusCode)
	}
}

// No other site can make a browser do something, and no script can get into a page.
func TestConsoleAgainstPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.browse(testToken, "")
	form := u.form()
	for what, c := range map[string]struct {
		form  string
		pairs []string
	}{
		"without the form's token":       {"", nil},
		"with another one":               {strings.Repeat("0", 32), nil},
		"from another site":              {form, []string{"Sec-Fetch-Site", "cross-site"}},
		"from another port of this host": {form, []string{"Sec-Fetch-Site", "same-site"}},
		"by the origin of another port":  {form, []string{"Origin", "http://127.0.0.1:9"}},
		"by an origin that is hidden":    {form, []string{"Origin", "null"}},
	} {
		res, _ := u.send("POST", "/ui/logout", url.Values{"form": {c.form}}, c.pairs...)
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", what, res.StatusCode)
		}
	}
	res, body := u.send("GET", "/", nil)
	policy := res.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "base-uri 'none'",
		"form-action 'self'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || res.Header.Get("X-Frame-Options") != "DENY" ||
		res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers: %v", res.Header)
	}
	inline := regexp.MustCompile(`(?i)<script[^>]*>[^<]|\son[a-z]+=|javascript:|https?://|\sstyle=`)
	if m := inline.FindString(body); m != "" {
		t.Errorf("the page has %q", m)
	}
}

// A person who follows a link on another page is asked whether to go on, and sees nothing of the engine before; what a
// page asks for by itself is refused.
func TestLinksFromElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("secretive", "send", eventlog.GrantAllow)
	u := b.browse(testToken, "")
	followed := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	for path, want := range map[string]string{
		"/": `href="/">Go on`, "/ui/workflows/secretive?x=1": `href="/ui/workflows/secretive?x=1">Go on`,
		"/login": "data-ask",
	} {
		res, body := u.send("GET", path, nil, followed...)
		if res.StatusCode != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d\n%s", path, res.StatusCode, body)
		}
		if strings.Contains(body, "ann") || strings.Contains(strings.ReplaceAll(body, path, ""), "secretive") {
			t.Errorf("%s shows something of the engine:\n%s", path, body)
		}
	}
	for what, c := range map[string]struct {
		method, path string
		pairs        []string
	}{
		"an API":          {"GET", "/v1/workflows", nil},
		"a form":          {"POST", "/ui/logout", nil},
		"a form's origin": {"GET", "/ui/needs", []string{"Origin", "https://evil.example"}},
		"a frame":         {"GET", "/ui/needs", []string{"Sec-Fetch-Dest", "iframe"}},
		"a fetch":         {"GET", "/ui/needs", []string{"Sec-Fetch-Mode", "cors"}},
		"a script": {"GET", "/ui/static/console.js",
			[]string{"Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}},
	} {
		res, body := u.send(c.method, c.path, nil, append(slices.Clone(followed), c.pairs...)...)
		if res.StatusCode != http.StatusForbidden || !strings.Contains(body, "origin.forbidden") {
			t.Errorf("%s: %d\n%s", what, res.StatusCode, body)
		}
	}
}

// A second login that another server has put into the browser is not used: what a person does would be recorded under
// another name.
func TestTwoLogins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u, planted := b.browse(testToken, ""), b.browse(testToken, "viewer")
	for _, order := range [][]*http.Cookie{{planted.cookie, u.cookie}, {u.cookie, planted.cookie}} {
		res, body := u.send("GET", "/ui/needs", nil, "Cookie", order[0].Name+"="+order[0].Value+"; "+order[1].Name+"="+
			order[1].Value)
		if res.StatusCode != http.StatusConflict || !strings.Contains(body, "two logins") {
			t.Errorf("%d\n%s", res.StatusCode, body)
		}
	}
}

// What was done is said on the next page, once; a note that another server of the host has put into the browser is not.
func TestNotes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	u := b.browse(testToken, "")
	res, body := u.send("POST", "/ui/act/pauseWorkflow", url.Values{"form": {u.form()}, "workflow": {"shop"}})
	if res.StatusCode != http.StatusSeeOther || len(u.notes) != 1 {
		t.Fatalf("%d, %d notes\n%s", res.StatusCode, len(u.notes), body)
	}
	left := maps.Clone(u.notes)
	for name, value := range left {
		_, signature, _ := strings.Cut(value, ".")
		u.notes[name] = base64.RawURLEncoding.EncodeToString([]byte("Send the token to Mallory")) + "." + signature
	}
	if body := u.get("/"); strings.Contains(body, "Mallory") {
		t.Errorf("a forged note is shown:\n%s", body)
	}
	u.notes = left
	if body := u.get("/"); !strings.Contains(body, "Done: pause. It is recorded under your name.") {
		t.Errorf("it is not said what was done:\n%s", body)
	}
	if body := u.get("/"); strings.Contains(body, "Done: pause") || len(u.notes) != 0 {
		t.Errorf("it is said again:\n%s", body)
	}
}
