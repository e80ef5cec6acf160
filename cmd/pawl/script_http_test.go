package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// eavesdropper is a server that pretends to be an engine and notes which credentials it is sent.
type eavesdropper struct {
	mu    sync.Mutex
	heard []string
}

var eavesdroppers sync.Map // *testscript.TestScript → *eavesdropper

// eavesdrop VARIABLE starts one and sets the variable to its host and port.
func eavesdrop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: eavesdrop VARIABLE")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	e := &eavesdropper{}
	server := &http.Server{Handler: e}
	go func() { _ = server.Serve(listener) }()
	ts.Defer(func() { _ = server.Close() })
	eavesdroppers.Store(ts, e)
	ts.Setenv(args[0], listener.Addr().String())
}

func (e *eavesdropper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.heard = append(e.heard, r.Header.Get("Authorization"))
	e.mu.Unlock()
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = fmt.Fprint(w, `{"status":401,"detail":"this engine asks for a token","code":"token.required"}`)
}

// overheard [CREDENTIALS] wants that something was sent to the eavesdropper since the last time, with
// these credentials each time, or with none.
func overheard(ts *testscript.TestScript, neg bool, args []string) {
	found, ok := eavesdroppers.Load(ts)
	if neg || len(args) > 1 || !ok {
		ts.Fatalf("usage: eavesdrop VARIABLE, then overheard [CREDENTIALS]")
	}
	e := found.(*eavesdropper)
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.heard) == 0 {
		ts.Fatalf("nothing was sent there")
	}
	for _, heard := range e.heard {
		if want := strings.Join(args, ""); heard != want {
			ts.Fatalf("sent %q, want %q", heard, want)
		}
	}
	e.heard = nil
}

// request STATUS METHOD URL [HEADER: VALUE]… sends a request as any program could and wants this answer.
func request(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: request STATUS METHOD URL [HEADER: VALUE]…")
	}
	req, err := http.NewRequest(args[1], args[2], nil)
	ts.Check(err)
	for _, header := range args[3:] {
		name, value, _ := strings.Cut(header, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	ts.Check(err)
	ts.Check(res.Body.Close())
	if strconv.Itoa(res.StatusCode) != args[0] {
		ts.Fatalf("%s %s: %s, want %s", args[1], args[2], res.Status, args[0])
	}
}

// secret FILE VARIABLE sets the variable to what the file holds, which must be for its owner alone.
func secret(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: secret FILE VARIABLE")
	}
	info, err := os.Lstat(ts.MkAbs(args[0]))
	ts.Check(err)
	if info.Mode().Perm() != 0o600 || !info.Mode().IsRegular() {
		ts.Fatalf("%s has mode %s", args[0], info.Mode())
	}
	ts.Setenv(args[1], strings.TrimSpace(ts.ReadFile(args[0])))
}
