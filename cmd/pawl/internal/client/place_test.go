package client

import (
	"strings"
	"testing"
)

func TestAddressesOfEngines(t *testing.T) {
	for _, good := range []string{"127.0.0.1:1", "http://127.0.0.1:1/", "http://[::1]:1",
		"https://pawl.example.com/behind", "localhost"} {
		if got, err := engineURL(good, "here"); err != nil || !strings.HasSuffix(got, good) {
			t.Errorf("%s: %s, %v", good, got, err)
		}
	}
}
