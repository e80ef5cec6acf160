package publicnet

import "testing"

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
