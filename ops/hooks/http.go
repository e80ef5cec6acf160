package hooks

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/rpc"
)

// ServeHTTP answers a request whose path has the names of a workflow and of a hook.
func (rc *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := rc.serve(w, r)
	if err != nil {
		p := rc.Problem(err)
		rc.Answered(p.Status)
		rc.Refused(p.Code)
		rc.Refuse(w, r, p)
		return
	}
	rc.Answered(a.status)
	rpc.LimitWrite(w)
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if a.media != "" {
		header.Set("Content-Type", a.media)
		header.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	// The error is that of a sender that is gone, and needs no answer.
	_, _ = w.Write(a.body)
}

func (rc *Receiver) serve(w http.ResponseWriter, r *http.Request) (answer, error) {
	if !hook.Allowed(r.Method) {
		p := rpc.Problemf(http.StatusMethodNotAllowed, "method.notAllowed", "%s is not possible on a hook",
			eventlog.ClipName(r.Method)).WithHint("allowed: " + strings.Join(hook.Methods, ", "))
		p.Allow = strings.Join(hook.Methods, ", ")
		return answer{}, p
	}
	ctx, cancel := context.WithTimeout(r.Context(), rc.Timeout)
	defer cancel()
	if err := rc.Started(ctx); err != nil {
		return answer{}, err
	}
	workflow, name := eventlog.WorkflowName(r.PathValue("workflow")), eventlog.HookName(r.PathValue("hook"))
	if _, _, err := rc.find(workflow, name); err != nil {
		return answer{}, err
	}
	body, leave, p := rc.read(w, r)
	defer leave()
	if p != nil {
		return answer{}, p
	}
	// The sender's time to send the body is over; the time to record it begins now.
	ctx, cancel = context.WithTimeout(r.Context(), rc.Timeout)
	defer cancel()
	request := &hook.Request{Method: r.Method, URL: rc.address(r), RawQuery: r.URL.RawQuery, Header: r.Header, Body: body}
	return rc.accept(ctx, workflow, name, request, func() {
		auth.Trust(r.Context(), "hook "+Address(workflow, name))
	})
}

// address is the URL that the sender has called, as the sender knows it.
func (rc *Receiver) address(r *http.Request) string {
	base := rc.PublicURL
	if base == "" {
		base = "http://" + r.Host
		if r.TLS != nil {
			base = "https://" + r.Host
		}
	}
	at := strings.TrimSuffix(base, "/") + r.URL.EscapedPath()
	if r.URL.RawQuery != "" {
		at += "?" + r.URL.RawQuery
	}
	return at
}

// read reads the body, as far as there is room for it; leave gives the room back, and must be called once.
func (rc *Receiver) read(w http.ResponseWriter, r *http.Request) (body []byte, leave func(), p *rpc.Problem) {
	var taken []func()
	leave = func() {
		for _, give := range taken {
			give()
		}
	}
	if r.ContentLength == 0 {
		return nil, leave, nil
	}
	if r.ContentLength > hook.MaxBody {
		return nil, leave, tooLarge()
	}
	sender := &rpc.Caller{Key: senderOf(r)}
	take := func(bytes int) *rpc.Problem {
		give, p := rc.bodies.TakeMany(sender, (bytes+1023)/1024)
		if p == nil {
			taken = append(taken, give)
		}
		return p
	}
	connection := http.NewResponseController(w)
	// Not every ResponseWriter has deadlines; a test's recorder needs none.
	_ = connection.SetReadDeadline(time.Now().Add(rc.bodyTimeout))
	from := http.MaxBytesReader(w, r.Body, hook.MaxBody)
	// One byte more than a body may have is read, so that its end is seen.
	most := hook.MaxBody + 1
	if r.ContentLength > 0 {
		most = int(r.ContentLength) + 1
	}
	var err error
	for err == nil {
		if len(body) == cap(body) {
			more := min(max(cap(body), firstRoom), most-cap(body))
			if p := take(more); p != nil {
				return nil, leave, p
			}
			body = append(make([]byte, 0, cap(body)+more), body...)
		}
		var n int
		n, err = from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	var large *http.MaxBytesError
	switch {
	case err == nil:
		_ = connection.SetReadDeadline(time.Time{})
		return body, leave, nil
	case errors.As(err, &large):
		return nil, leave, tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, leave, rpc.Problemf(http.StatusRequestTimeout, codeSlow,
			"the body did not come within %s; nothing was stored", rc.bodyTimeout).
			WithHint("send the request again, whole and in time")
	}
	return nil, leave, rpc.Malformed(codeUnreadable, "the body could not be read; nothing was stored").
		WithHint("send the request again, whole").WithCause(err)
}

// senderOf is the machine that a request comes from.
func senderOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
