package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// WriteTimeout is how long a reader may read nothing of an answer, or of a stream, before its connection is closed.
const WriteTimeout = 30 * time.Second

// EncodeAnswer renders an answer as JSON. It leaves text as it is recorded: the answer may hold a hash of these bytes.
func EncodeAnswer(answer any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // an answer is no web page
	if err := encoder.Encode(answer); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return body.Bytes(), nil
}

// WriteJSON sends the body as the answer.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	LimitWrite(w)
	header := w.Header()
	header["Content-Type"] = contentJSON
	header["Cache-Control"] = noStore
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// A reader that is gone needs no answer.
	_, _ = w.Write(body)
}

// LimitWrite bounds the time in which the caller must read the answer that follows.
func LimitWrite(w http.ResponseWriter) {
	// Not every ResponseWriter has deadlines; a test's recorder needs none.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(WriteTimeout))
}

var (
	contentJSON = []string{"application/json"}
	noStore     = []string{"no-store"}
)

// WriteProblem sends the problem as the answer. It is called before anything else was written.
func WriteProblem(w http.ResponseWriter, p *Problem) {
	LimitWrite(w)
	header := w.Header()
	header.Set("Content-Type", ProblemType)
	header.Set("Cache-Control", "no-store")
	switch p.Status {
	case http.StatusServiceUnavailable:
		header.Set("Retry-After", "1")
	case http.StatusTooManyRequests:
		header.Set("Retry-After", "10") // a backlog takes its time
	}
	if p.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="pawl"`)
	}
	if p.Allow != "" {
		header.Set("Allow", p.Allow)
	}
	document := p.Document()
	header.Set("Content-Length", strconv.Itoa(len(document)))
	w.WriteHeader(p.Status)
	// A reader that is gone needs no answer.
	_, _ = w.Write(document)
}
