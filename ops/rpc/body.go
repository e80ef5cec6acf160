package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

const (
	// MaxBody bounds a request's body in bytes.
	MaxBody = 8 << 20
	// SmallBody, in bytes: a body up to this size is not counted against the quota, since those of all connections
	// together are small.
	SmallBody = 64 << 10
	// MaxDiscard bounds how much of an unwanted body is read and thrown away.
	MaxDiscard = 64 << 20
	// bodyTimeout is how long a caller may take to send a body, wanted or not.
	bodyTimeout = 30 * time.Second
)

// LimitBody bounds the time for the request's body, if there is one. If the answer is sent before the body is read, the
// caller still has the rest of that time to send the body.
func LimitBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// Not every ResponseWriter has deadlines; a test's recorder needs none.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	}
}

// ReadBody reads the request's body into the buffer, if the operation takes one. Before it keeps more than SmallBody
// bytes, it asks take for as many bytes as the body may have: the whole MaxBody where its length is not known.
func ReadBody(o *Operation, w http.ResponseWriter, r *http.Request, into *bytes.Buffer,
	take func(size int) *Problem) *Problem {
	if r.ContentLength == 0 {
		if o.RawBody != "" {
			return Malformed("json.invalid", "the body is empty").WithHint("send one event or an array of events")
		}
		return nil
	}
	if o.Method == http.MethodGet {
		return nil // the body of a GET has no meaning
	}
	if r.ContentLength > MaxBody {
		return bodyTooLarge()
	}
	body := http.MaxBytesReader(w, r.Body, MaxBody)
	size := int(r.ContentLength)
	var err error
	if size < 0 {
		if _, err = io.CopyN(into, body, SmallBody); err == nil {
			size = MaxBody
		}
	}
	if size > SmallBody {
		if p := take(size); p != nil {
			return p
		}
	}
	if err == nil {
		into.Grow(max(int(r.ContentLength), 0) + bytes.MinRead) // memory that is not written to costs nothing
		_, err = into.ReadFrom(body)
	} else if errors.Is(err, io.EOF) {
		err = nil // the body has ended before SmallBody
	}
	if err == nil {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return bodyTooLarge()
	case err != nil:
		return Malformed("body.unreadable", "the body could not be read: %v", err).
			WithHint("nothing was changed; send the request again, whole and in time")
	case into.Len() == 0:
		return nil // the body is chunked and empty
	}
	return checkJSON(r)
}

// checkJSON requires application/json for a body: a browser asks the server before a page may send this type to another
// origin.
func checkJSON(r *http.Request) *Problem {
	given := r.Header.Get("Content-Type")
	if given == "application/json" {
		return nil
	}
	if media, _, err := mime.ParseMediaType(given); err == nil && media == "application/json" {
		return nil
	}
	return Problemf(http.StatusUnsupportedMediaType, "contentType.unsupported",
		"a body must be application/json, this one is %q", eventlog.ClipName(given)).
		WithHint("send Content-Type: application/json")
}

func bodyTooLarge() *Problem {
	return Problemf(http.StatusRequestEntityTooLarge, "body.tooLarge",
		"a body may have at most %d bytes; nothing was changed", MaxBody).
		WithHint("send it in several requests")
}

// DiscardBody sends what is written of an answer, then reads the rest of the body. Many clients send their whole
// request before they read anything: if the connection were closed meanwhile, they would not see the answer. What a
// client sends beyond the bound, too late, or once life has ended, meets a closed connection. Over HTTP/2 nothing is
// read: there only a stream is reset, and the answer would not end before the handler does.
func DiscardBody(life context.Context, w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 || r.ProtoMajor > 1 {
		return
	}
	connection := http.NewResponseController(w)
	if connection.Flush() != nil {
		return // the caller is gone
	}
	defer context.AfterFunc(life, func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) })()
	// An error makes no difference: the server closes a connection whose body was not read to its end.
	_, _ = io.CopyN(io.Discard, r.Body, MaxDiscard)
}
