package publicnet

import (
	"net/netip"
	"testing"
)

func TestIsPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "2606:4700:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "127.9.9.9": false, "0.0.0.0": false, "10.1.2.3": false, "172.16.0.1": false,
		"172.31.255.255": false,
		"172.32.0.1":     true, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"168.63.129.16": false,
		"224.0.0.1":     false, "255.255.255.255": false, "198.18.0.1": false, "192.0.2.1": false,
		"::": false, "::1": false, "fe80::1": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "64:ff9b::a00:1": false, "2002:7f00:1::": false,
		"::7f00:1": false,
	} {
		if got := isPublic(netip.MustParseAddr(address)); got != want {
			t.Errorf("isPublic(%s) = %v, want %v", address, got, want)
		}
	}
}
