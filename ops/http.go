package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/ops/rpc"
)

// routes builds the HTTP interface from the table.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	handle := func(method, pattern string, h http.Handler) {
		methods[pattern] = append(methods[pattern], method)
		mux.Handle(method+" "+pattern, h)
	}
	for i := range table {
		o := &table[i]
		handle(o.Method, o.Path, s.operation(o))
	}
	for _, p := range plainTable {
		handle(http.MethodGet, p.Path, s.plain(p))
	}
	for pattern, allowed := range methods {
		if slices.Contains(allowed, http.MethodGet) {
			allowed = append(allowed, http.MethodHead)
		}
		slices.Sort(allowed)
		allow := strings.Join(allowed, ", ")
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			p := rpc.Problemf(http.StatusMethodNotAllowed, "method.notAllowed", "%s is not possible on %s", rpc.Clip(r.Method), rpc.Clip(r.URL.Path)).WithHint("allowed: " + allow)
			p.Allow = allow
			s.refuse(w, r, p)
		})
	}
	mux.HandleFunc("/", s.unknownPath)
	return s.outer(mux)
}

func (s *Server) unknownPath(w http.ResponseWriter, r *http.Request) {
	s.refuse(w, r, rpc.Problemf(http.StatusNotFound, "path.unknown", "there is nothing at %s", rpc.Clip(r.URL.Path)).WithHint(rpc.OpenAPIPath+" lists all operations"))
}

// outer is what every request passes through.
func (s *Server) outer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch cause := recover(); {
			case cause == nil:
			case cause == http.ErrAbortHandler:
				panic(cause)
			default:
				// Headers may be out already; then the connection ends and the reader sees it.
				s.refuse(w, r, s.fault(r.Method+" "+r.URL.Path, panicked(cause)))
			}
		}()
		w.Header().Set("X-Content-Type-Options", "nosniff")
		limitBody(w, r)
		caller, p := s.door.admit(r, public(r.URL.Path))
		if p != nil {
			s.refuse(w, r, p)
			return
		}
		if challenge := r.Header.Get(rpc.ChallengeHeader); challenge != "" {
			w.Header().Set(rpc.ProofHeader, s.door.prove(challenge))
		}
		if caller != nil {
			trust(r.Context())
			r = r.WithContext(context.WithValue(r.Context(), callerKey{}, caller))
		}
		// The mux would redirect an unclean path; a POST would lose its body on the way.
		if escaped := r.URL.EscapedPath(); !strings.HasPrefix(escaped, "/") || path.Clean(escaped) != strings.TrimSuffix(escaped, "/") && escaped != "/" {
			s.unknownPath(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func panicked(cause any) error { return fmt.Errorf("panic: %v\n%s", cause, debug.Stack()) }

// operation answers one row of the table.
func (s *Server) operation(o *Operation) http.Handler {
	count := s.metrics.operation(o.ID)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := s.answer(o, w, r, count)
		if p != nil {
			count(p.Status)
			s.refuse(w, r, p)
		}
	})
}

func (s *Server) answer(o *Operation, w http.ResponseWriter, r *http.Request, count func(int)) *rpc.Problem {
	caller, p := callerOf(r)
	if p == nil {
		p = o.Ask(caller)
	}
	if p != nil {
		return p
	}
	buffer := buffers.Get().(*bytes.Buffer)
	defer putBuffer(buffer)
	if p := readBody(o, w, r, buffer); p != nil {
		return p
	}
	if o.RawBody != "" {
		return s.push(o, w, r, caller, buffer.Bytes(), count)
	}
	request, err := o.Request.FromHTTP(r, buffer.Bytes())
	if err != nil {
		return problemOf(err)
	}
	call := &Call{Caller: *caller, server: s, leave: s.life}
	if o.stream != nil {
		if p := o.Permit(&call.Caller, request); p != nil {
			return p
		}
		switch answered, err := o.stream(w, r, call, request); {
		case err != nil:
			return s.fault(o.ID, err)
		case answered:
			count(http.StatusOK)
			return nil
		}
	}
	status, answer, err := s.call(r.Context(), o, call, request)
	if err != nil {
		return s.fault(o.ID, err)
	}
	body, err := encodeAnswer(answer)
	if err != nil {
		return s.fault(o.ID, err)
	}
	count(status)
	writeJSON(w, status, body)
	return nil
}

// encodeAnswer leaves text as it is recorded: a hash beside it may be over these bytes.
func encodeAnswer(answer any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // what is answered is no web page
	if err := encoder.Encode(answer); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return body.Bytes(), nil
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	limitWrite(w)
	header := w.Header()
	header["Content-Type"] = contentJSON
	header["Cache-Control"] = noStore
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// A reader that is gone needs no answer.
	_, _ = w.Write(body)
}

// limitWrite bounds the time in which the caller takes the answer that comes now.
func limitWrite(w http.ResponseWriter) {
	// Not every ResponseWriter has deadlines; a test's recorder needs none.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
}

var (
	contentJSON = []string{"application/json"}
	noStore     = []string{"no-store"}
)

// buffers are reused for bodies; nothing may keep a slice of one.
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
