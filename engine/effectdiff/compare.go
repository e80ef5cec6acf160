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
	"github.com/pawl-run/pawl/sandbox"
)

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
				effect, err := compareRun(ctx, cfg, before, after, &recordings[i])
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

func compareRun(ctx context.Context, cfg Config, before, after Script, r *recording.Recording) (Effect, error) {
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
	case r.Phase == sandbox.Producer:
		e.Kind = Same
		return e, e.compareLeft(&old, &changed)
	case old.call == nil && changed.call != nil:
		e.Kind, e.NextUnknown = New, hasNext(after, r)
	case old.call != nil && changed.call == nil:
		e.Kind, e.NextUnknown = Gone, hasNext(after, r)
	default:
		e.Kind = Same
		if old.call != nil {
			if err := e.compareCalls(old.call, changed.call); err != nil {
				return e, err
			}
		}
		if err := e.compareChosen(&old, &changed); err != nil {
			return e, err
		}
		return e, compareNext(ctx, cfg, &e, before, after, &old, &changed, r)
	}
	return e, nil
}

// compareCalls notes where the scripts do not name the same call.
func (e *Effect) compareCalls(old, changed *Call) (err error) {
	if e.Fields, err = difference.Of(old.Params, changed.Params); err != nil {
		return err
	}
	if old.Asks != changed.Asks {
		e.Fields = append(e.Fields, difference.Difference{Path: "(approval)", Before: asks(old), After: asks(changed)})
	}
	if len(e.Fields) > 0 || old.Operation != changed.Operation {
		e.Kind = Changed
	}
	return nil
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

// encode writes them, nil for none.
func (c chosen) encode() (json.RawMessage, error) {
	if len(c) == 0 {
		return nil, nil
	}
	written, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("compare the events that prepare chooses: %w", err)
	}
	return written, nil
}

// asks is how a difference shows whether a person has to approve the call.
func asks(c *Call) json.RawMessage {
	if c.Asks {
		return json.RawMessage(`"the script asks a person"`)
	}
	return json.RawMessage(`"as granted"`)
}
