package console

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// page is the data of every template.
type page struct {
	Title string
	// Nav is the entry of the navigation that the page belongs to.
	Nav  string
	Body any
	// Snapshot says that the page does not update itself: so a person confirms what was shown, and text that was typed
	// is kept.
	Snapshot bool

	// The fields below are filled in by render.
	User, Role, Version, Form, Nonce, Path, Note string
	Scope                                        string // the only workflow that the user may see
	In                                           bool
	// Back is the address that leads back from a page that refuses something; "/" where no other is known.
	Back string
	// Elsewhere says that the person comes from a page of another origin.
	Elsewhere bool
	// Live says that the page updates itself.
	Live  bool
	visit *visit
	now   time.Time
}

// Seen is how far the log was read when the page began.
func (p page) Seen() uint64 { return p.visit.seen }

// May reports whether the user's role is enough for the operation.
func (p page) May(id string) bool { return p.visit.may(id) }

// CanBeAsked reports whether the other side can be asked what became of a call.
func (p page) CanBeAsked(m readmodel.Mutation) bool {
	if p.visit.asked == nil {
		p.visit.asked = map[string]bool{}
		connectors, err := ask[struct{ Items []connectorView }](p.visit, "listConnectors", nil)
		if err != nil {
			p.visit.cfg.Logger.Warn("a page cannot show which calls can be asked about", "error", err)
		}
		for _, c := range connectors.Items {
			for _, o := range c.Operations {
				p.visit.asked[c.Name+"."+o.Name] = o.Reconciles
			}
		}
	}
	return p.visit.asked[m.Connector+"."+m.Operation]
}

// With is the page with another body, for one of its parts.
func (p page) With(body any) page {
	p.Body = body
	return p
}

// Sentence shows an explanation: plain, with its times as people read them, and with buttons in the place of commands.
// A text in quotes comes from a script or from outside, and is marked as that.
func (p page) Sentence(text string) template.HTML {
	var out strings.Builder
	for text != "" {
		at := foreign.FindStringIndex(text)
		if at == nil {
			at = []int{len(text), len(text)}
		}
		own := template.HTMLEscapeString(plain(asButtons(text[:at[0]])))
		out.WriteString(moments.ReplaceAllStringFunc(own, p.inWords))
		if at[0] < at[1] {
			fmt.Fprintf(&out, `<bdi class="quoted">%s</bdi>`, template.HTMLEscapeString(plain(text[at[0]:at[1]])))
		}
		text = text[at[1]:]
	}
	return template.HTML(out.String())
}

// foreign matches what explanations quote.
var foreign = regexp.MustCompile(`“[^”]*”`)

// inWords shows a time of a sentence as people read it.
func (p page) inWords(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return at
	}
	format := "15:04:05 UTC"
	if d := p.now.Sub(t); d > day/2 || d < -day/2 {
		format = "2 January 15:04 UTC"
	}
	return fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, at, relative(p.now.Sub(t)), t.Format(format))
}

// Moment shows a time: how long ago or ahead it is, and the exact time in its title.
func (p page) Moment(at eventlog.Instant) template.HTML {
	if at == 0 {
		return `<span class="dim">–</span>`
	}
	t := at.Time()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s UTC">%s</time>`, t.Format(time.RFC3339Nano),
		t.Format("2006-01-02 15:04:05.000"), template.HTMLEscapeString(relative(p.now.Sub(t)))))
}

// Clock shows a time of day, exact to the millisecond, with its day where that is another one.
func (p page) Clock(at eventlog.Instant) template.HTML {
	if at == 0 {
		return ""
	}
	t := at.Time()
	format := "15:04:05.000"
	if t.Truncate(day) != p.now.UTC().Truncate(day) {
		format = "2006-01-02 15:04:05"
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s UTC">%s</time>`, t.Format(time.RFC3339Nano),
		t.Format("2006-01-02 15:04:05.000"), t.Format(format)))
}

// Took is how long something lasted, from and to included.
func (p page) Took(from, to eventlog.Instant) string {
	if from == 0 || to == 0 {
		return ""
	}
	return says(to.Sub(from))
}

// render writes a page with the headers that keep other sites and scripts out.
func (c *Console) render(w http.ResponseWriter, v *visit, status int, view string, p page) {
	p.visit, p.now, p.Nonce, p.Path, p.Version = v, c.cfg.Now(), rand.Text(), v.r.URL.RequestURI(), c.cfg.Version
	// A page that answers a form has no address of its own, so it cannot update itself.
	addressed := v.caller != nil && v.r.Method != http.MethodPost
	p.Live, p.Snapshot = addressed && !p.Snapshot, addressed && p.Snapshot
	if v.caller != nil {
		p.In, p.User, p.Role, p.Form = true, v.caller.Actor.Name, string(v.caller.Role), v.form
		p.Scope = string(v.caller.Workflow)
		p.Note = v.note(w)
	}
	var out bytes.Buffer
	t := c.views()[view]
	if t == nil {
		panic("there is no view " + view)
	}
	if err := t.ExecuteTemplate(&out, "layout", p); err != nil {
		c.cfg.Logger.Error("a page could not be shown", "view", view, "error", err)
		http.Error(w, "This page could not be shown; the engine's own output says why.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-"+p.Nonce+
		"'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer the Origin of forms would be "null"
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	rpc.LimitWrite(w)
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // a reader that is gone needs no answer
}

// refuse answers with a problem, as a page.
func (c *Console) refuse(w http.ResponseWriter, r *http.Request, v *visit, p *rpc.Problem) {
	if v == nil {
		v = &visit{Console: c, r: r}
	}
	back := r.URL.Query().Get("back")
	switch {
	case r.PostForm != nil:
		back = r.PostForm.Get("back")
	case back == "" && p.Status == http.StatusBadRequest && r.URL.RawQuery != "":
		back = r.URL.EscapedPath() // the same page without its query
	}
	c.render(w, v, p.Status, "problem", page{Title: headline(p.Status), Body: p, Snapshot: true, Back: backTo(back)})
}

func problemOf(err error) *rpc.Problem {
	var p *rpc.Problem
	if errors.As(err, &p) {
		return p
	}
	return rpc.Problemf(http.StatusInternalServerError, "page.failed", "This page could not be made.").WithCause(err)
}

// functions are what templates can call.
var functions = template.FuncMap{
	"plain": plain, "clip": clip, "count": count, "words": words, "json": indent, "jsonRow": indentRow, "whole": whole,
	"line": line, "decided": decided,
	"path": path, "tone": tone, "said": said, "headline": headline,
	"urlq": func(v any) string { return url.QueryEscape(fmt.Sprint(deref(v))) }, "hasSuffix": strings.HasSuffix,
	"says": says, "attempts": attempts, "query": query, "list": func(items ...any) []any { return items },
}

// parse reads the templates: each view together with the layout and the parts.
func parse() map[string]*template.Template {
	entries, err := templates.ReadDir("templates")
	if err != nil {
		panic(err) // it is embedded
	}
	views := map[string]*template.Template{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		views[name] = template.Must(template.New(name).Funcs(functions).ParseFS(templates, "templates/layout.html",
			"templates/parts.html", "templates/"+e.Name()))
	}
	return views
}

// realNow is the clock of one-time links: people use them, so they do not follow the engine's clock.
func realNow() time.Time { return time.Now() }
