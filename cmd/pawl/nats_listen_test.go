package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/embeddednats"
)

// An address without a host means this machine; one beyond it is said to be readable; none has no users.
func TestNATSAddress(t *testing.T) {
	for _, tt := range []struct {
		listen, want string
		warns, fails bool
	}{
		{listen: ""},
		{listen: ":0", want: "127.0.0.1:0"},
		{listen: "localhost:4222", want: "localhost:4222"},
		{listen: "[::1]:4222", want: "[::1]:4222"},
		{listen: "0.0.0.0:4222", want: "0.0.0.0:4222", warns: true},
		{listen: "pawl.example.com:4222", want: "pawl.example.com:4222", warns: true},
		{listen: "4222", fails: true},
	} {
		t.Run(tt.listen, func(t *testing.T) {
			var log strings.Builder
			in := &installation{settings: settings{Data: t.TempDir(), NATSListen: tt.listen}, logger: slog.New(slog.NewTextHandler(&log, nil))}
			var broker embeddednats.Config
			if err := in.openToNATS(&broker); (err != nil) != tt.fails {
				t.Fatal(err)
			}
			if broker.ListenAddr != tt.want || (len(broker.Users) == 4) != (tt.want != "") || broker.Insecure {
				t.Errorf("listens on %q with %d users", broker.ListenAddr, len(broker.Users))
			}
			if warned := strings.Contains(log.String(), "without TLS"); warned != tt.warns {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}
