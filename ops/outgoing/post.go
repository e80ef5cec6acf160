package outgoing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/eventlog"
)

// answerBytes is how much of an answer is read, and excerptBytes how much of it an error quotes. errorBytes bounds the
// text of an error, since errors of net/http repeat lines of any length.
const (
	answerBytes  = 4 << 10
	excerptBytes = 300
	errorBytes   = 600
)

// Message is a message that is posted.
type Message struct {
	// ID is the header webhook-id: the same whenever the message is sent again.
	ID string
	// ContentType of the body.
	ContentType string
	Body        []byte
}

// Result is what became of an attempt. The zero value is a message that was delivered.
type Result struct {
	// Err is why the message is not delivered; nil when it is.
	Err error
	// Gone says that the receiver wants no more messages (410).
	Gone bool
	// RetryAfter is how long the receiver wants to be left alone; 0 where it does not say.
	RetryAfter time.Duration
}

// Post makes one attempt to deliver the message.
func (t *Target) Post(ctx context.Context, m Message) Result {
	result := t.post(ctx, m)
	if result.Err != nil {
		result.Err = errors.New(eventlog.Clip(t.hide.Text(result.Err.Error()), errorBytes))
	}
	return result
}

func (t *Target) post(ctx context.Context, m Message) Result {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url.String(), bytes.NewReader(m.Body))
	if err != nil {
		return Result{Err: fmt.Errorf("make the request: %w", cause(err))}
	}
	now := time.Now() // the machine's time, since receivers compare it with their own
	signatures, err := t.signatures(m.ID, now, m.Body)
	if err != nil {
		return Result{Err: err}
	}
	request.Header = signatures
	request.Header.Set("Content-Type", m.ContentType)
	request.Header.Set("User-Agent", "pawl")
	response, err := t.client.Do(request)
	if err != nil {
		return Result{Err: fmt.Errorf("%s: %w", t.Host(), cause(err))}
	}
	defer func() { _ = response.Body.Close() }()
	said, _ := io.ReadAll(io.LimitReader(response.Body, answerBytes)) // the part that can be read is enough
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return Result{}
	}
	result := Result{Gone: response.StatusCode == http.StatusGone, Err: fmt.Errorf("%s answered %d%s", t.Host(),
		response.StatusCode, t.excerpt(response.StatusCode, said))}
	if response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable {
		result.RetryAfter = min(httpcall.RetryAfter(response.Header, now), eventlog.MaxRetryAfter)
	}
	return result
}

// excerpt is the part of an answer that an error quotes. Secrets are removed before the text is cut: the cut could
// leave a part of a secret that is not recognised any more.
func (t *Target) excerpt(status int, said []byte) string {
	if status >= 300 && status < 400 {
		return "; redirects are not followed"
	}
	if text := strings.Join(strings.Fields(eventlog.Clip(t.hide.Text(string(said)), excerptBytes)), " "); text != "" {
		return ": " + text
	}
	return ""
}

// signatures are the headers that sign a message: a signature for each value of the secret, so that a receiver that
// knows the old one or the new one alone can verify it while it is replaced.
func (t *Target) signatures(id string, now time.Time, body []byte) (http.Header, error) {
	r := &hook.Request{Method: http.MethodPost, Header: http.Header{}, Body: body}
	r.Header.Set("Webhook-Id", id)
	scheme := eventlog.HookVerify{Scheme: hook.SchemeStandard}
	var all []string
	for _, key := range t.keys {
		if err := hook.Sign(scheme, key, r, now); err != nil {
			return nil, fmt.Errorf("sign message %s: the secret is no key of Standard Webhooks", id)
		}
		all = append(all, r.Header.Get("Webhook-Signature"))
	}
	if len(all) > 0 {
		r.Header.Set("Webhook-Signature", strings.Join(all, " "))
	}
	return r.Header, nil
}
