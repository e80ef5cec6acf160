package main

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/schedule"
)

// An interrupt is no failure, also in the moment between all being at rest and saying so.
func TestInterruptedAsAllCameToRest(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var stdout, stderr bytes.Buffer
	screen := term.Screen{Out: &stdout, Err: &stderr, Env: os.LookupEnv}
	s := config.Settings{Data: t.TempDir(), HTTP: "127.0.0.1:0", Policies: schedule.Default()}
	// no workflow: all is at rest
	err := node.Operate(ctx, screen, s, underTest().with, func(context.Context, *node.Node) (node.SideTask, error) {
		interrupt()
		return nil, nil
	}, nil)
	if err != nil {
		t.Errorf("%v\n%s%s", err, &stdout, &stderr)
	}
	mustSay(t, stderr.String(), `^pawl: stopping`)
}
