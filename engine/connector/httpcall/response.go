package httpcall

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/publicnet"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/eventlog"
)

// maxBody is the most bytes of an answer that are kept.
const maxBody = connector.MaxResult

// maxBinary is the most bytes of a read's answer that fit into a result in base64, with the headers.
const maxBinary = 700 << 10

// inBase64 is the encoding of a result whose body is base64.
const inBase64 = "base64"

// maxDrain is how much more of a too long answer is read to count it; beyond, its announced length counts.
const maxDrain = 4 << 20

// shownHeaders are the headers of an answer that scripts get: those that address, page or identify something. Cookies
// and all others are left out.
var shownHeaders = []string{
	"Content-Location", "Content-Type", "Date", "Etag", "Last-Modified", "Link", "Location",
	"Retry-After", "X-Next-Page", "X-Page", "X-Ratelimit-Remaining", "X-Request-Id", "X-Total-Count",
}

// errTooBig: the body has more than maxBody bytes.
var errTooBig = errors.New("body too big")

// errSwitched: the other side wants to go on in another protocol, which is no answer.
var errSwitched = errors.New("the other side switches to another protocol")

// codeToken is the code of a call for which there is no access token, or whose token was refused.
const codeToken = "http.token"

// answer is a response read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
	size   int64 // of a body too big to keep, as far as known
	err    error // reading the body failed, or errTooBig
	// wasJSON: the body was valid JSON before secrets were blanked out of it.
	wasJSON bool
	redact  *redact.Redactor
	// stale: it was asked for with an access token that an earlier call has used.
	stale bool
}

// readAnswer reads and closes a response. It blanks out secrets.
func readAnswer(response *http.Response, secrets *redact.Redactor) answer {
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header, redact: secrets}
	if a.status == http.StatusSwitchingProtocols {
		a.err = errSwitched // the body is the bare connection, which no deadline ends
		return a
	}
	if length := response.ContentLength; length > 0 && length <= maxBody {
		a.body = make([]byte, 0, length+1)
	}
	a.body, a.err = readAllInto(a.body, io.LimitReader(response.Body, maxBody+1))
	if a.err == nil && len(a.body) > maxBody {
		more, _ := io.Copy(io.Discard, io.LimitReader(response.Body, maxDrain))
		a.size = max(int64(len(a.body))+more, response.ContentLength)
		a.body, a.err = nil, errTooBig
	}
	if blanked, changed := a.redact.Bytes(a.body); changed {
		a.body, a.wasJSON = blanked, json.Valid(bytes.TrimSpace(a.body))
	}
	return a
}

func readAllInto(buffer []byte, r io.Reader) ([]byte, error) {
	into := bytes.NewBuffer(buffer)
	_, err := into.ReadFrom(r)
	return into.Bytes(), err
}

// errMalformed: the body is not the JSON that its type says.
var errMalformed = errors.New("the body is not valid JSON, although its content type says so")

// value is the body as a JSON value: null if empty, the value itself if it is JSON, else a string.
// JSON is what has a JSON content type, and an object or array sent as plain text or without a type. In base64 it is a
// string of exactly the bytes, whatever they are.
func (a answer) value(encoding string) (json.RawMessage, error) {
	if a.err == errTooBig {
		return connector.TruncatedResult(a.size), nil
	}
	if encoding == inBase64 {
		return json.RawMessage(`"` + base64.StdEncoding.EncodeToString(a.body) + `"`), nil
	}
	trimmed := bytes.TrimSpace(a.body)
	if len(trimmed) == 0 {
		return json.RawMessage("null"), nil
	}
	declared, guessable := jsonContent(a.header.Get("Content-Type"))
	if declared || (guessable && (trimmed[0] == '{' || trimmed[0] == '[')) {
		if json.Valid(trimmed) {
			return trimmed, nil
		}
		if declared && !a.wasJSON {
			return nil, errMalformed
		}
	}
	text, err := json.Marshal(string(a.body)) // also replaces what is not UTF-8
	if err != nil {
		return nil, fmt.Errorf("write the body as a string: %w", err)
	}
	return text, nil
}

func jsonContent(contentType string) (declared, guessable bool) {
	if contentType == "application/json" { // the usual case needs no parsing
		return true, false
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false, contentType == ""
	}
	return media == "application/json" || strings.HasSuffix(media, "+json"), media == "text/plain"
}

// result is what scripts get: {status, headers, body}.
func (a answer) result(encoding string) (json.RawMessage, error) {
	body, err := a.value(encoding)
	if err != nil {
		return nil, err
	}
	out := a.assemble(body)
	if len(out) > connector.MaxResult {
		// A body that fits can grow when it is written as a JSON string.
		out = a.assemble(connector.TruncatedResult(int64(len(a.body))))
	}
	return out, nil
}

func (a answer) assemble(body json.RawMessage) json.RawMessage {
	out := make([]byte, 0, len(body)+256)
	out = append(out, `{"status":`...)
	out = strconv.AppendInt(out, int64(a.status), 10)
	out = append(out, `,"headers":{`...)
	first := true
	for _, name := range shownHeaders {
		values := a.header[name]
		if len(values) == 0 {
			continue
		}
		value := a.redact.Text(strings.Join(values, ", "))
		quoted, err := json.Marshal(value)
		if err != nil {
			continue // a string always marshals
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(out, '"')
		out = append(out, strings.ToLower(name)...)
		out = append(out, '"', ':')
		out = append(out, quoted...)
	}
	out = append(out, `},"body":`...)
	out = append(out, body...)
	return append(out, '}')
}

// excerpt is the beginning of the body for a failure's message.
func (a answer) excerpt() string {
	const most = 500
	text := strings.TrimSpace(string(a.body[:min(len(a.body), most)]))
	if text == "" {
		return ""
	}
	return ": " + strings.ToValidUTF8(text, "\uFFFD")
}

// statusClass is the class of an answer that refuses. definite reports whether the answer proves, for a mutation, that
// nothing was applied (F4).
func statusClass(status int) (class eventlog.Class, definite bool) {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return eventlog.Auth, true
	case status == http.StatusNotFound, status == http.StatusGone, status == http.StatusPreconditionFailed:
		return eventlog.Precondition, true
	case status == http.StatusTooManyRequests:
		return eventlog.Transient, true
	case status == http.StatusRequestTimeout, status >= 500:
		return eventlog.Transient, false
	case status >= 400:
		return eventlog.Logic, true
	default:
		// 1xx and 3xx: not an answer to the question.
		return eventlog.Logic, false
	}
}

// refusal is the failure of an answer that refuses, with the time after which the host wants to be asked again where
// it names one (F13).
func (a answer) refusal(where string) (failure *eventlog.Failure, definite bool) {
	class, definite := statusClass(a.status)
	if a.status == http.StatusUnauthorized && a.stale {
		return connector.Failf(eventlog.Transient, codeToken, "%s answered 401 to an access token that an earlier "+
			"call had used; the next call gets a new one%s", where, a.excerpt()), true
	}
	failure = connector.Failf(class, "http.status", "%s answered %d%s", where, a.status, a.excerpt())
	failure.RetryAfter = a.retryAfter()
	return failure, definite
}

// retryAfter is how long the host wants to be left alone, 0 where the answer does not say (F13).
func (a answer) retryAfter() time.Duration {
	if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
		return RetryAfter(a.header, time.Now())
	}
	return 0
}

// RetryAfter reads the header Retry-After of an answer: seconds, or a moment. A moment is counted from the answer's
// own Date, since the host's clock may differ from this machine's. 0 means that it says nothing.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if wish := connector.RetryAfter(text); wish > 0 {
		return wish
	}
	moment, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if said, err := http.ParseTime(header.Get("Date")); err == nil {
		now = said
	}
	return max(moment.Sub(now), 0)
}

// complete says whether the answer was read to its end.
func (a answer) complete() bool { return a.err == nil || errors.Is(a.err, errTooBig) }

// unreached describes a call that never left: no connection was made, or the one used was dead already.
func unreached(ctx context.Context, call connector.Call, where, what string, err error) *eventlog.Failure {
	var refused *publicnet.RefusedError
	if errors.As(err, &refused) {
		return connector.Failf(eventlog.Permission, connector.CodeHostPrivate, "%s %s: %v", where, what, refused)
	}
	if ended := connector.ContextFailure(ctx, call); ended != nil {
		ended.Message += ": no connection for " + where
		return ended
	}
	return connector.Failf(eventlog.Transient, "http.connect", "%s %s: %v", where, what, cause(err))
}

// noAnswer describes a call whose answer is missing or broke off.
func noAnswer(ctx context.Context, call connector.Call, where string, err error) *eventlog.Failure {
	if ended := connector.ContextFailure(ctx, call); ended != nil {
		ended.Message += ": " + where
		return ended
	}
	return connector.Failf(eventlog.Transient, "http.answer", "%s has no usable answer: %v", where, cause(err))
}

// cause drops the URL that net/http writes into some errors: its query may be confidential.
func cause(err error) error {
	var urlError *url.Error
	if errors.As(err, &urlError) {
		err = urlError.Err
	}
	return connector.ClosedBy("the other side", err)
}
