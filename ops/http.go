package ops

import (
	"bytes"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/console"
	"github.com/pawl-run/pawl/ops/problem"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/ops/trace"
)

// routes builds the HTTP interface from the table.
func (b *backend) routes() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	handle := func(method, pattern string, h http.Handler) {
		methods[pattern] = append(methods[pattern], method)
		mux.Handle(method+" "+pattern, h)
	}
	for i := range table {
		o := &table[i]
		handle(o.Method, o.Path, b.operation(o))
	}
	for _, p := range plainTable {
		handle(http.MethodGet, p.Path, b.plain(p))
	}
	mux.Handle(receiveHook.Path, b.hooks)
	for pattern, allowed := range methods {
		if slices.Contains(allowed, http.MethodGet) {
			allowed = append(allowed, http.MethodHead)
		}
		slices.Sort(allowed)
		allow := strings.Join(allowed, ", ")
		refused := func(w http.ResponseWriter, r *http.Request) {
			p := rpc.Problemf(http.StatusMethodNotAllowed, "method.notAllowed", "%s is not possible on %s",
				eventlog.ClipName(r.Method), eventlog.ClipName(r.URL.Path)).WithHint("allowed: " + allow)
			p.Allow = allow
			b.refuse(w, r, p)
		}
		if !covered(pattern, methods) {
			mux.HandleFunc(pattern, refused)
			continue
		}
		// Where a wider pattern has methods of its own, the mux accepts a narrower pattern only with methods.
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete} {
			if !slices.Contains(allowed, method) {
				mux.HandleFunc(method+" "+pattern, refused)
			}
		}
	}
	mux.HandleFunc("/", b.unknownPath)
	pages := b.openConsole()
	all := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if console.Owns(r) {
			pages.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
	return b.outer(all, public, pages)
}

// hooksAlone answers only the requests for hooks, and has nothing to do with tokens: it asks for none, and gives no
// proof that this engine knows one.
func (b *backend) hooksAlone() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(receiveHook.Path, b.hooks)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		b.refuse(w, r, rpc.Problemf(http.StatusNotFound, "path.unknown", "there is nothing at %s",
			eventlog.ClipName(r.URL.Path)).WithHint("hooks alone are answered here, at /hooks/WORKFLOW/HOOK"))
	})
	outer := b.outer(mux, func(*http.Request) bool { return true }, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del(rpc.ChallengeHeader)
		outer.ServeHTTP(w, r)
	})
}

// covered reports whether another path, with a parameter in it, matches this path too.
func covered(pattern string, methods map[string][]string) bool {
	segments := strings.Split(pattern, "/")
	for other := range methods {
		stands := func(wide, narrow string) bool { return wide == narrow || strings.HasPrefix(wide, "{") }
		if other != pattern && slices.EqualFunc(strings.Split(other, "/"), segments, stands) {
			return true
		}
	}
	return false
}

func (b *backend) unknownPath(w http.ResponseWriter, r *http.Request) {
	b.refuse(w, r, rpc.Problemf(http.StatusNotFound, "path.unknown", "there is nothing at %s",
		eventlog.ClipName(r.URL.Path)).WithHint(rpc.OpenAPIPath+" lists all operations"))
}

// outer wraps every request; public says which requests ask for no token. A person that follows a link on a page of
// another origin is answered by pages, where there are some.
func (b *backend) outer(next http.Handler, public func(*http.Request) bool, pages *console.Console) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch cause := recover(); {
			case cause == nil:
			case cause == http.ErrAbortHandler:
				panic(cause)
			default:
				// Headers may be sent already; then the connection ends and the reader notices.
				b.refuse(w, r, b.fault(r.Method+" "+r.URL.Path, panicked(cause)))
			}
		}()
		w.Header().Set("X-Content-Type-Options", "nosniff")
		rpc.LimitBody(w, r)
		caller, p := b.guard.Admit(r, public(r))
		if p != nil && p.Code == auth.CodeOrigin && pages != nil && console.Owns(r) && auth.FollowsLink(r) {
			pages.FromElsewhere(w, r)
			return
		}
		if p != nil {
			b.refuse(w, r, p)
			return
		}
		if challenge := r.Header.Get(rpc.ChallengeHeader); challenge != "" {
			w.Header().Set(rpc.ProofHeader, b.guard.Prove(challenge))
		}
		if caller != nil {
			auth.Trust(r.Context(), caller.Key)
			r = auth.WithCaller(r, caller)
		}
		r = r.WithContext(b.traced(r.Context(), r.Header.Get(trace.Header)))
		// The mux would redirect an unclean path; a POST would lose its body on the way.
		if escaped := r.URL.EscapedPath(); !strings.HasPrefix(escaped, "/") ||
			path.Clean(escaped) != strings.TrimSuffix(escaped, "/") && escaped != "/" {
			b.unknownPath(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuse answers with a problem, and reads what the caller still sends.
func (b *backend) refuse(w http.ResponseWriter, r *http.Request, p *rpc.Problem) {
	rpc.WriteProblem(w, p)
	rpc.DiscardBody(b.life, w, r)
}

// operation answers one row of the table.
func (b *backend) operation(o *Operation) http.Handler {
	count := b.metrics.Operation(o.ID, o.Statuses...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, p := b.awaitAfter(r)
		if p == nil {
			b.tellLag(w.Header())
			p = b.answer(o, w, r, count)
		}
		if p != nil {
			count(p.Status)
			b.refuse(w, r, p)
		}
	})
}

func (b *backend) answer(o *Operation, w http.ResponseWriter, r *http.Request, count func(int)) *rpc.Problem {
	caller, p := auth.CallerOf(r)
	if p == nil {
		p = o.Ask(caller)
	}
	if p != nil {
		return p
	}
	leave := func() {}
	defer func() { leave() }()
	take := func(size int) *rpc.Problem {
		left, p := b.bodies.TakeMany(caller, size>>10)
		if p == nil {
			leave = left
		}
		return p
	}
	buffer := buffers.Get().(*bytes.Buffer)
	defer putBuffer(buffer)
	if p := rpc.ReadBody(&o.Operation, w, r, buffer, take); p != nil {
		return p
	}
	if o.RawBody != "" {
		return b.push(o, w, r, caller, buffer.Bytes(), count)
	}
	request, err := o.Request.FromHTTP(r, buffer.Bytes())
	if err != nil {
		return problem.Of(err)
	}
	call := &Call{Caller: *caller, backend: b, leave: b.life}
	if o.stream != nil {
		if p := o.Permit(&call.Caller, request); p != nil {
			return p
		}
		switch answered, err := o.stream(w, r, call, request); {
		case err != nil:
			return b.fault(o.ID, err)
		case answered:
			count(http.StatusOK)
			return nil
		}
	}
	ctx, recorded := engine.WithRecorded(r.Context())
	status, answer, err := b.call(ctx, o, call, request)
	tellPositions(w.Header(), recorded)
	if err != nil {
		return b.fault(o.ID, err)
	}
	body, err := rpc.EncodeAnswer(answer)
	if err != nil {
		return b.fault(o.ID, err)
	}
	count(status)
	rpc.WriteJSON(w, status, body)
	return nil
}

// buffers are reused for bodies; no code may keep a slice of one.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// putBuffer gives a buffer back unless a rare large body made it large.
func putBuffer(b *bytes.Buffer) {
	const most = 256 << 10
	if b.Cap() > most {
		return
	}
	b.Reset()
	buffers.Put(b)
}

// push is the HTTP side: the body is the events themselves, and nothing is parsed twice.
func (b *backend) push(o *Operation, w http.ResponseWriter, r *http.Request, caller *rpc.Caller, body []byte,
	count func(int)) *rpc.Problem {
	if r.URL.RawQuery != "" {
		return rpc.Malformed("query.unknown",
			"this operation has no query parameters").WithHint("the topic stands in the path, the events in the body")
	}
	ctx, recorded := engine.WithRecorded(r.Context())
	answer, p := b.ingress(ctx, o, caller, eventlog.WorkflowName(r.PathValue("workflow")),
		eventlog.Topic(r.PathValue("topic")), body)
	tellPositions(w.Header(), recorded)
	if p != nil {
		return p
	}
	count(http.StatusOK)
	rpc.WriteJSON(w, http.StatusOK, answer)
	return nil
}

// plain answers a plain operation over HTTP.
func (b *backend) plain(p plainOperation) http.Handler {
	if p.answer == nil {
		return b.figures()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, problem := p.answer(b, r.Context())
		if problem != nil {
			b.refuse(w, r, problem)
			return
		}
		rpc.WriteJSON(w, http.StatusOK, body)
	})
}

// figures answers with the metrics. The caller must have the right to see all workflows.
func (b *backend) figures() http.Handler {
	handler := b.metrics.Handler()
	figures := rpc.Operation{ID: "metrics", Role: rpc.Viewer}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, p := auth.CallerOf(r)
		if p == nil {
			p = figures.Permit(caller, nil)
		}
		if p != nil {
			b.refuse(w, r, p)
			return
		}
		rpc.LimitWrite(w)
		handler.ServeHTTP(w, r)
	})
}
