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
