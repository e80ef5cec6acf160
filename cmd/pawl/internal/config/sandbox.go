package config

import (
	"cmp"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// parseSandbox reads how far the processes of scripts must be confined; empty means as far as this machine can.
func parseSandbox(text string) (confine.Level, error) {
	level, err := confine.ParseLevel(cmp.Or(text, string(confine.Offered())))
	if err != nil {
		return level, exit.Misconfigured("full is everything this program knows; none takes what the machine offers",
			"require-sandbox: %v", err)
	}
	return level, nil
}
