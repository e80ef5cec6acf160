package effectdiff

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/engine/difference"
	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/sandbox"
)

// hasNext reports whether the script runs a next after the recorded prepare.
func hasNext(script Script, r *recording.Recording) bool {
	consumer, ok := script.Definition.Consumer(r.Handler)
	return ok && consumer.HasNext
}

// compareNext runs next of both scripts, and notes the differences in what they leave behind.
func compareNext(ctx context.Context, cfg Config, e *Effect, before, after Script, old, changed *outcome,
	r *recording.Recording) error {
	var answer *Answer
	if cfg.Answers != nil && (old.call != nil && hasNext(before, r) || changed.call != nil && hasNext(after, r)) {
		var err error
		if answer, err = cfg.Answers(ctx, r.Run); err != nil {
			return fmt.Errorf("find what became of the call of run %s: %w", r.Run, err)
		}
	}
	was, err := next(ctx, cfg, before, old, answer, r)
	if err != nil {
		return err
	}
	now, err := next(ctx, cfg, after, changed, answer, r)
	if err != nil {
		return err
	}
	switch {
	case was.lacks != "", now.lacks != "", was.fault != nil && now.fault != nil:
		e.NextUnknown = true
		return nil
	case now.fault != nil:
		e.Kind, e.Error, e.Line = Fails, "next: "+now.fault.Message, now.fault.Line
		return nil
	}
	return e.compareLeft(&was, &now)
}

// next runs next of one script on what its prepare returned. Where there is none, or prepare fails, nothing is left.
func next(ctx context.Context, cfg Config, script Script, does *outcome, answer *Answer, r *recording.Recording) (
	outcome, error) {
	if !hasNext(script, r) || does.prepared == nil {
		return outcome{}, nil
	}
	given := Answer{Status: "none"}
	if does.call != nil {
		if answer == nil || answer.Operation != does.call.Operation {
			return outcome{lacks: "no answer to the call is known"}, nil
		}
		given = *answer
	}
	call := callOf(cfg, script, sandbox.Next, r)
	consumer, _ := script.Definition.Consumer(r.Handler)
	call.Topics = topics(script, consumer.PublishesDeclared, consumer.Publishes)
	var err error
	if call.MutationResult, err = json.Marshal(given); err != nil {
		return outcome{}, fmt.Errorf("give next its answer: %w", err)
	}
	call.Prepared = does.prepared
	out, done, err := invoke(ctx, cfg, call, &host{})
	if err == nil && done.fault == nil && done.lacks == "" {
		done.left, err = leftBy(out)
	}
	return done, err
}

// compareLeft notes where the scripts do not publish, register or return the same.
func (e *Effect) compareLeft(old, changed *outcome) error {
	for _, part := range []struct {
		name        string
		before, now json.RawMessage
	}{
		{"(published)", old.left.published, changed.left.published}, {"(inputs)", old.left.inputs, changed.left.inputs},
		{"(state)", old.left.state, changed.left.state},
	} {
		if bytes.Equal(part.before, part.now) {
			continue
		}
		found := []difference.Difference{{Before: part.before, After: part.now}}
		if part.before != nil && part.now != nil {
			var err error
			if found, err = difference.Of(part.before, part.now); err != nil {
				return err
			}
		}
		for _, d := range found {
			if d.Path != "" && !strings.HasPrefix(d.Path, "[") {
				d.Path = "." + d.Path
			}
			d.Path = part.name + d.Path
			e.Kind, e.Fields = Changed, append(e.Fields, d)
		}
	}
	return nil
}
