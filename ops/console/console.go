package console

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/rpc"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static
var static embed.FS

// Config of a Console. All fields but Version and Generation are required.
type Config struct {
	// Operations is the table, and Call carries out one of its operations as the caller.
	Operations rpc.Table
	Call       func(ctx context.Context, c *rpc.Caller, id string, request []byte) ([]byte, *rpc.Problem)
	Guard      *auth.Guard
	Links      *auth.Links
	// OpenLogin makes a login for the caller. It returns the secret that the browser shows from then on, and how long
	// the login lasts.
	OpenLogin func(ctx context.Context, c *rpc.Caller) (secret string, life time.Duration, p *rpc.Problem)
	Log       eventlog.Log
	// Recording returns a context, and a function that returns as text the positions of everything that is recorded
	// under that context. Await waits until this engine has read the log up to them, so that the page of any node shows
	// what was done on another one.
	Recording func(context.Context) (context.Context, func() string)
	Await     func(ctx context.Context, positions string) *rpc.Problem
	// Now is the engine's clock.
	Now func() time.Time
	// Followers bounds the pages that are kept up to date; KeepAlive is the time between two signs of life to each.
	Followers   *auth.Quota
	Revocations *auth.Revocations
	KeepAlive   time.Duration
	// Life ends when the server stops.
	Life    context.Context
	Logger  *slog.Logger
	Version string
	// Generation is before the positions of a log that was restored; empty for any other log.
	Generation string
}

// Console answers the requests of browsers. It is safe for concurrent use.
type Console struct {
	cfg      Config
	mux      *http.ServeMux
	views    func() map[string]*template.Template // read when a browser first asks: most engines never serve one
	activity *activity
}

// Owns reports whether the console answers a request. The first page is the console's only where a browser asks for it.
func Owns(r *http.Request) bool {
	switch path := r.URL.Path; {
	case path == "/":
		return (r.Method == http.MethodGet || r.Method == http.MethodHead) && wantsPage(r)
	case path == LoginPath || path+"/" == Base:
		return true
	default:
		return strings.HasPrefix(path, Base)
	}
}

func wantsPage(r *http.Request) bool {
	return r.Header.Get("HX-Request") != "" || // a page that updates itself
		strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/html")
}

// ServeHTTP implements http.Handler for the requests that Owns names.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }

// assets lets a browser keep the files as long as the program is the same.
func assets(files http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") || r.URL.Path == "" { // folders are not listed
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "private, max-age=300")
		files.ServeHTTP(w, r)
	})
}

// visit is one request of a logged-in user.
type visit struct {
	*Console
	r      *http.Request
	caller *rpc.Caller
	form   string // the token that forms carry
	// recorded returns the positions of what the request has recorded.
	recorded func() string
	// seen is how far the log was read when the page began: the page is updated after later records.
	seen uint64
	// asked are the operations that can be reconciled, so that the other side can be asked what became of a call; nil
	// until a page needs it.
	asked map[string]bool
}

// page makes a page for users who are logged in: show returns the name of its template and its content.
func (c *Console) page(path string, show func(*visit) (string, page, error)) {
	c.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		r, p := c.awaitAfter(r)
		if p != nil {
			c.refuse(w, r, nil, p)
			return
		}
		v := c.admit(w, r)
		if v == nil {
			return
		}
		view, body, err := show(v)
		if err != nil {
			c.refuse(w, r, v, problemOf(err))
			return
		}
		c.render(w, v, http.StatusOK, view, body)
	})
}

// admit finds the user. Without one it answers with a page that says how to log in, and returns nil.
func (c *Console) admit(w http.ResponseWriter, r *http.Request) *visit {
	caller, form, p := c.cfg.Guard.Browser(r)
	switch {
	case p != nil:
		c.refuse(w, r, nil, p)
		return nil
	case caller == nil:
		c.render(w, &visit{Console: c, r: r}, http.StatusUnauthorized, "login", page{Title: "Log in"})
		return nil
	}
	auth.Trust(r.Context(), caller.Key)
	c.activity.start(c.cfg.Life)
	seen, _ := c.activity.next()
	return &visit{Console: c, r: r, caller: caller, form: form, seen: seen}
}

// may reports whether the user's role is enough for the operation.
func (v *visit) may(id string) bool {
	o := v.cfg.Operations.Lookup(id)
	return v.caller != nil && o != nil && o.Ask(v.caller) == nil
}

// ask carries out an operation of the table as the user. The error is a *rpc.Problem.
func ask[Answer any](v *visit, id string, fields map[string]any) (Answer, error) {
	var answer Answer
	if fields == nil {
		fields = map[string]any{}
	}
	request, err := json.Marshal(fields)
	if err != nil {
		return answer, fmt.Errorf("encode the request for %s: %w", id, err)
	}
	body, p := v.cfg.Call(v.r.Context(), v.caller, id, request)
	if p != nil {
		return answer, p
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("read the answer to %s: %w", id, err)
	}
	return answer, nil
}

// given are the fields of a form that are not empty.
func given(form url.Values, names ...string) map[string]any {
	fields := map[string]any{}
	for _, name := range names {
		if value := form.Get(name); value != "" {
			fields[name] = value
		}
	}
	return fields
}
