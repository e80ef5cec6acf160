package loopback_test

import (
	"testing"

	"github.com/pawl-run/pawl/engine/loopback"
)

func TestHost(t *testing.T) {
	for host, want := range map[string]struct{ host, called bool }{
		"localhost": {true, true}, "LocalHost": {true, true}, "127.0.0.1": {true, true}, "127.9.9.9": {true, true},
		"::1": {true, true}, "::ffff:127.0.0.1": {true, true},
		// What a request may name, and where no password goes.
		"localhost.": {false, true}, "x.localhost": {false, true}, "X.LOCALHOST.": {false, true},
		"[::1]": {false, true},
		// Other machines, and every interface.
		"": {}, ".": {}, "localhost.example.com": {}, "127.0.0.1.example.com": {}, "xlocalhost": {}, "127.1": {},
		"2130706433": {}, "0.0.0.0": {}, "::": {}, "[::]": {}, "10.0.0.1": {}, "mail.example.com": {},
	} {
		if got := loopback.Host(host); got != want.host {
			t.Errorf("Host(%q) = %v, want %v", host, got, want.host)
		}
		if got := loopback.Called(host); got != want.called {
			t.Errorf("Called(%q) = %v, want %v", host, got, want.called)
		}
	}
}

func TestAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"localhost:80": true, "127.0.0.1:0": true, "[::1]:4222": true, "LOCALHOST:": true,
		"": false, ":80": false, "127.0.0.1": false, "localhost": false, "::1:80": false, "0.0.0.0:80": false,
		"[::]:80": false, "x.localhost:80": false, "node-b.example.org:6222": false,
	} {
		if got := loopback.Address(address); got != want {
			t.Errorf("Address(%q) = %v, want %v", address, got, want)
		}
	}
}
