package auth

import (
	"strings"
	"testing"
)

func TestCheckListen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		addr string
		how  Listening
		want string
	}{
		{"127.0.0.1:7070", Listening{}, ""},
		{"127.8.9.10:0", Listening{}, ""},
		{"[::1]:7070", Listening{}, ""},
		{"localhost:7070", Listening{NoAuth: true}, ""},
		{"0.0.0.0:7070", Listening{}, "--plaintext"},
		{":7070", Listening{}, "--tls-cert"},
		{"[::]:7070", Listening{}, "unencrypted"},
		{"192.168.1.5:7070", Listening{TLS: true}, ""},
		{"192.168.1.5:7070", Listening{Plaintext: true}, ""},
		{"192.168.1.5:7070", Listening{NoAuth: true}, "--no-auth is for loopback only"},
		{"192.168.1.5:7070", Listening{TLS: true, NoAuth: true}, "--no-auth is for loopback only"},
		{"192.168.1.5:7070", Listening{Plaintext: true, NoAuth: true}, "--no-auth is for loopback only"},
		{"localhost.example.com:7070", Listening{}, "refusing"},
		{"7070", Listening{Plaintext: true}, "HOST:PORT"},
	} {
		err := CheckListen(c.addr, c.how)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %+v: %v, want %q", c.addr, c.how, err, c.want)
		}
	}
}
