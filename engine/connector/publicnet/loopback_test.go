package publicnet

import "testing"

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.": false, "localhost.example.com": false, "127.0.0.1.example.com": false, "127.1": false,
		"2130706433": false, "[::1]": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "mail.example.com": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("IsLoopback(%q) = %v, want %v", host, got, want)
		}
	}
}

func TestLoopbackOnly(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:80": true, "127.9.9.9:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true,
		"10.1.2.3:80": false, "8.8.8.8:80": false, "[fe80::1]:80": false, "0.0.0.0:80": false, "localhost:80": false,
	} {
		if err := LoopbackOnly("tcp", address, nil); (err == nil) != want {
			t.Errorf("LoopbackOnly(%s) = %v, want it dialled: %t", address, err, want)
		}
	}
}
