package scripts

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/mcpserver"
	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/engine/rehearsal"
	"github.com/pawl-run/pawl/sandbox"
)

// rehearsals run the tests of models, one at a time, in processes that are started with the first.
type rehearsals struct {
	conf config.Reader
	with storage.Parts

	mu   sync.Mutex
	t    *tester
	done func() error
}

// run is mcpserver's Test.
func (r *rehearsals) run(ctx context.Context, request mcpserver.TestRequest) (json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.t == nil {
		t, done, err := newTester(r.conf, r.with)
		if err != nil {
			return nil, err
		}
		r.t, r.done = t, done
	}
	script := source.Script{Path: "workflow.ts", Text: []byte(request.Source)}
	tests := source.Script{Path: "workflow.test.ts", Text: []byte(request.Tests)}
	if request.YAML {
		tests.Path = "workflow.test.yaml"
	}
	found := tested{Script: script.Path, Tests: tests.Path, Problems: []sandbox.Problem{}, Cases: []rehearsal.Outcome{}}
	if err := r.t.judge(ctx, &found, script, tests, nil); err != nil {
		return nil, err
	}
	document, err := json.Marshal(found)
	if err != nil {
		return nil, fmt.Errorf("print the report: %w", err)
	}
	return document, nil
}

// close ends the processes.
func (r *rehearsals) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done == nil {
		return nil
	}
	return r.done()
}
