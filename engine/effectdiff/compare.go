package effectdiff

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"

	"github.com/pawl-run/pawl/engine/difference"
	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// Script is one of the two that are compared.
type Script struct {
	Source     sandbox.Source
	Definition *eventlog.Definition
}

// Config is what scripts run with.
type Config struct {
	Workflow eventlog.WorkflowName
	Scripts  sandbox.Executor
	Vars     sandbox.Vars
	Limits   sandbox.Limits
}

// Kind says how the effect of a run differs.
type Kind string

// The kinds of differences.
const (
	Same    Kind = "same"
	New     Kind = "new"     // only the new script makes a call
	Gone    Kind = "gone"    // only the old one does
	Changed Kind = "changed" // the calls differ, or the events that prepare chooses
	Fails   Kind = "fails"   // the new script fails where the old one does not
	// NotReplayed: what one of them asks for was not recorded, or the old one fails too.
	NotReplayed Kind = "notReplayed"
)

// Call is a change that a script names.
type Call struct {
	Operation string          `json:"operation"`
	Params    json.RawMessage `json:"params"`
	Title     string          `json:"title,omitempty"`
	// Asks says that the script wants a person to approve the call, whatever is granted.
	Asks bool `json:"asks,omitempty"`
}

// Effect is what became of one run under both scripts.
type Effect struct {
	Run     eventlog.RunID          `json:"run"`
	Version eventlog.Version        `json:"version" jsonschema:"the version that ran then"`
	Handler eventlog.Handler        `json:"handler"`
	Kind    Kind                    `json:"kind" jsonschema:"same, new, gone, changed, fails or notReplayed"`
	Before  *Call                   `json:"before,omitempty" jsonschema:"the call of the version that runs now"`
	After   *Call                   `json:"after,omitempty" jsonschema:"the call of the new script"`
	Fields  []difference.Difference `json:"fields,omitempty" jsonschema:"the parameters in which the calls differ; (reserved) and (cancelled) are the events that prepare chooses"`
	Error   string                  `json:"error,omitempty" jsonschema:"why it fails, or could not be replayed"`
	Line    int                     `json:"line,omitempty" jsonschema:"the line of the script that fails"`
}

// Compare runs both scripts on each recording, on all processors. The effects are in the order of the recordings.
// It fails when ctx ends, or when the executor does.
func Compare(ctx context.Context, cfg Config, before, after Script, recordings []recording.Recording) ([]Effect,
	error) {
	effects := make([]Effect, len(recordings))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) + 1 {
		workers.Go(func() {
			for i := range next {
				effect, err := compare(ctx, cfg, before, after, &recordings[i])
				if err != nil {
					stop(err)
				}
				effects[i] = effect
			}
		})
	}
feeding:
	for i := range recordings {
		select {
		case next <- i:
		case <-ctx.Done():
			break feeding
		}
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("replay recorded runs: %w", context.Cause(ctx))
	}
	return effects, nil
}

func compare(ctx context.Context, cfg Config, before, after Script, r *recording.Recording) (Effect, error) {
	e := Effect{Run: r.Run, Version: r.Version, Handler: r.Handler, Kind: NotReplayed}
	old, err := replay(ctx, cfg, before, r)
	if err != nil {
		return e, err
	}
	changed, err := replay(ctx, cfg, after, r)
	if err != nil {
		return e, err
	}
	e.Before, e.After = old.call, changed.call
	switch {
	case old.lacks != "":
		e.Error = "the version that runs now: " + old.lacks
	case changed.lacks != "":
		e.Error = "the new script: " + changed.lacks
	case changed.fault != nil && old.fault != nil:
		e.Error, e.Line = "both fail; the new script: "+changed.fault.Message, changed.fault.Line
	case changed.fault != nil:
		e.Kind, e.Error, e.Line = Fails, changed.fault.Message, changed.fault.Line
	case old.call == nil && changed.call == nil:
		e.Kind = Same
		return e, e.compareChosen(&old, &changed)
	case old.call == nil:
		e.Kind = New
	case changed.call == nil:
		e.Kind = Gone
	default:
		e.Kind = Changed
		if e.Fields, err = difference.Of(old.call.Params, changed.call.Params); err != nil {
			return e, err
		}
		if old.call.Asks != changed.call.Asks {
			e.Fields = append(e.Fields, difference.Difference{Path: "(approval)", Before: asks(old.call),
				After: asks(changed.call)})
		}
		if len(e.Fields) == 0 && old.call.Operation == changed.call.Operation {
			e.Kind = Same
		}
		return e, e.compareChosen(&old, &changed)
	}
	return e, nil
}

// compareChosen notes where the scripts do not choose the same events: what is reserved is consumed with the run.
func (e *Effect) compareChosen(old, changed *outcome) error {
	for _, part := range []struct {
		name        string
		before, now chosen
	}{{"(reserved)", old.reserved, changed.reserved}, {"(cancelled)", old.cancelled, changed.cancelled}} {
		before, err := part.before.encode()
		if err != nil {
			return err
		}
		now, err := part.now.encode()
		if err != nil {
			return err
		}
		if !bytes.Equal(before, now) {
			e.Kind = Changed
			e.Fields = append(e.Fields, difference.Difference{Path: part.name, Before: before, After: now})
		}
	}
	return nil
}

// asks is how a difference shows whether a person has to approve the call.
func asks(c *Call) json.RawMessage {
	if c.Asks {
		return json.RawMessage(`"the script asks a person"`)
	}
	return json.RawMessage(`"as granted"`)
}
