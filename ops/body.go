package ops

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// maxBody bounds a request's body in bytes.
	maxBody = 8 << 20
	// maxDiscard bounds what is read, and thrown away, of a body that is not wanted.
	maxDiscard = 64 << 20
	// bodyTimeout is how long a caller may take to send a body, wanted or not.
	bodyTimeout = 30 * time.Second
)

// limitBody bounds the time for the request's body, if there is one. An answer that comes before it is
// read leaves the caller the rest of that time to send it all the same.
func limitBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// Not every ResponseWriter has deadlines; a test's recorder needs none.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	}
}

// readBody reads the request's body into the buffer, if the operation takes one.
func readBody(o *Operation, w http.ResponseWriter, r *http.Request, into *bytes.Buffer) *Problem {
	if r.ContentLength == 0 {
		if o.ingress {
			return malformed("json.invalid", "the body is empty").hint("send one event or an array of events")
		}
		return nil
	}
	if o.Method == http.MethodGet {
		return nil // a body of a GET means nothing
	}
	if r.ContentLength > maxBody {
		return bodyTooLarge()
	}
	_, err := into.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return bodyTooLarge()
	case err != nil:
		return malformed("body.unreadable", "the body could not be read: %v", err).
			hint("nothing was changed; send the request again, whole and in time")
	case into.Len() == 0:
		return nil // chunked, and empty
	}
	return checkJSON(r)
}

func bodyTooLarge() *Problem {
	return problemf(http.StatusRequestEntityTooLarge, "body.tooLarge", "a body may have at most %d bytes; nothing was changed", maxBody).
		hint("send it in several requests")
}

// refuse answers with a problem, then reads on. Many clients send their whole request before they read
// anything; a connection that is closed while they do so is all that they would see of the answer.
// What comes after the bound, too late, or while the server stops, meets a closed connection. Over
// HTTP/2 only a stream is reset, and the answer would not end before the handler does.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, p *Problem) {
	p.write(w)
	if r.ContentLength == 0 || r.ProtoMajor > 1 {
		return
	}
	connection := http.NewResponseController(w)
	if connection.Flush() != nil {
		return // the caller is gone
	}
	defer context.AfterFunc(s.life, func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) })()
	// How it ends makes no difference: the server closes what was not read to its end.
	_, _ = io.CopyN(io.Discard, r.Body, maxDiscard)
}
