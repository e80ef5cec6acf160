package scripts

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Test is `pawl test`: run the tests that stand beside scripts, without an engine process.
type Test struct {
	JSON  bool     `name:"json" help:"Print one JSON document."`
	Watch bool     `help:"Run them again whenever a script or its tests change, until interrupted."`
	Files []string `arg:"" optional:"" name:"file" type:"path" help:"Scripts, or their tests; without one, all NAME.test.ts, NAME.test.js and NAME.test.yaml of this folder."`
}

// Run runs the tests, or reports what is wrong with a file. The exit code is 1 where a test fails.
func (c *Test) Run(ctx context.Context, conf config.Reader, screen term.Screen, with storage.Parts) error {
	pairs, err := c.pairs()
	if err != nil {
		return err
	}
	t, done, err := newTester(conf, with)
	if err != nil {
		return err
	}
	t.screen, t.asJSON = screen, c.JSON
	if c.Watch {
		err = t.watch(ctx, pairs)
	} else {
		err = t.all(ctx, pairs)
	}
	return errors.Join(err, done())
}

// pairs are the scripts and tests that the command line names.
func (c *Test) pairs() (pairs []pair, err error) {
	files := c.Files
	if len(files) == 0 {
		here, err := os.Getwd()
		if err != nil {
			return nil, exit.Failed("", err)
		}
		for _, extension := range testExtensions {
			found, err := filepath.Glob(filepath.Join(here, "*"+testSuffix+extension))
			if err != nil {
				return nil, exit.Failed("", err)
			}
			files = append(files, found...)
		}
		if len(files) == 0 {
			return nil, exit.Misconfigured("write the tests of orders.ts into orders.test.ts", "no tests are here: %s",
				term.Path(here))
		}
		slices.Sort(files)
	}
	for _, file := range files {
		found, err := pairsOf(file)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			if !slices.Contains(pairs, p) {
				pairs = append(pairs, p)
			}
		}
	}
	return pairs, nil
}
