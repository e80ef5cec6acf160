package main

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// outside is the server that the workflows of the world call. The path of a request says how it answers.
type outside struct {
	listener net.Listener
	server   *http.Server

	mu    sync.Mutex
	calls map[string]int
	well  bool
}

func startOutside() (*outside, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &outside{listener: listener, calls: map[string]int{}}
	o.server = &http.Server{Handler: o, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = o.server.Serve(listener) }() // ends with close
	return o, nil
}

func (o *outside) host() string { return o.listener.Addr().String() }

// called is how often the path was asked.
func (o *outside) called(path string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[path]
}

// recover makes /refuses accept requests from now on.
func (o *outside) recover() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.well = true
}

func (o *outside) close() { _ = o.server.Close() }

// ServeHTTP implements http.Handler.
func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	o.mu.Lock()
	o.calls[r.URL.Path]++
	well := o.well
	o.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasPrefix(r.URL.Path, "/loses"): // the request is carried out, and the answer is lost
		panic(http.ErrAbortHandler)
	case strings.HasPrefix(r.URL.Path, "/refuses") && !well:
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"error": "the article <b>A-7</b> is not for sale"}`)
	default:
		_, _ = io.WriteString(w, `{"ok": true, "number": 4711}`)
	}
}
