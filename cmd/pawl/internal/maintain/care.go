package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pawl-run/pawl/eventlog/durable"
	"github.com/pawl-run/pawl/ops/rpc"
)

// care handles one request: it has the workflow repaired, unless a rule forbids that now. It returns the time from
// which the same request may be tried again.
func (l *Loop) care(ctx context.Context, r request) (again time.Time) {
	select {
	case l.places <- struct{}{}:
		defer func() { <-l.places }()
	case <-ctx.Done():
		return time.Time{}
	}
	if until := l.Quiet.Until(l.Now()); !until.IsZero() {
		l.Report(r.Workflow, "wants a repair, and waits for the end of the quiet hours at "+until.Format("15:04 MST"))
		return until
	}
	repairs, err := l.repairsOfADay(ctx, r.Workflow)
	if err == nil && repairs >= l.PerDay {
		l.Report(r.Workflow, fmt.Sprintf("wants a repair, and has had %d in the last 24 hours, the most there may be: a "+
			"person must look (pawl why %s)", repairs, r.Workflow))
		return l.Now().Add(time.Hour)
	}
	proposed := false
	if err == nil {
		proposed, err = l.repair(ctx, r)
	}
	if err != nil && ctx.Err() == nil {
		l.Report(r.Workflow, "is not repaired: "+err.Error())
	}
	if proposed {
		return l.Now().AddDate(100, 0, 0) // never: a person has the proposal, and a new failure is a new request
	}
	return l.Now().Add(l.Pause)
}

// repairsOfADay counts the repairs that the log has of the workflow in the last 24 hours.
func (l *Loop) repairsOfADay(ctx context.Context, workflow string) (count int, err error) {
	const looked = 1000 // deploys; a day with more of them is over every bound
	since := l.Now().Add(-24 * time.Hour)
	for raw, err := range l.Client.Log(ctx, rpc.LogQuery{Workflow: workflow, Type: "workflow.deployed", Tail: looked}) {
		if err != nil {
			return 0, fmt.Errorf("count its repairs: %w", err)
		}
		var t struct {
			At     time.Time
			Events []struct{ Data struct{ Repair bool } }
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return 0, fmt.Errorf("count its repairs: %w", err)
		}
		for _, fact := range t.Events {
			if fact.Data.Repair && t.At.After(since) {
				count++
			}
		}
	}
	return count, nil
}

// refusal is an answer that the engine has refused. The maintainer gets it with the next request.
type refusal struct {
	Source   string          `json:"source"`
	Detail   string          `json:"detail"`
	Problems json.RawMessage `json:"problems"`
}

// repair asks the maintainer, and gives its answers to the engine, until the engine accepts a repair or wants none any
// more. It reports whether an answer was proposed to a person instead.
func (l *Loop) repair(ctx context.Context, r request) (proposed bool, err error) {
	var refused []refusal
	for {
		evidence, err := l.evidence(ctx, r, refused)
		if err != nil {
			return false, err
		}
		answer, err := l.ask(ctx, r, evidence)
		if err != nil {
			return false, err
		}
		if goOn, err := l.review(ctx, r, evidence, answer); err != nil || !goOn {
			return err == nil, err
		}
		var done struct{ Version string }
		err = l.Client.Do(ctx, "repairWorkflow", map[string]any{"workflow": r.Workflow, "source": answer.Source,
			"note": answer.Note, "expectedVersion": r.Version}, &done)
		var p *rpc.Problem
		switch {
		case err == nil:
			l.Report(r.Workflow, "is repaired and goes on as "+done.Version+noted(answer.Note))
			return false, nil
		case errors.As(err, &p) && (p.Code == "repair.notRequested" || p.Code == "version.moved"):
			l.Report(r.Workflow, "was repaired in another way meanwhile")
			return false, nil
		case errors.As(err, &p) && p.Code == "repair.spent":
			l.Report(r.Workflow, "is not repaired any more: a person must look (pawl why "+r.Workflow+")")
			return false, nil
		case errors.As(err, &p) && p.Code == "repair.refused":
			l.Report(r.Workflow, "a repair was refused: "+p.Detail)
			problems, err := json.Marshal(p.Problems)
			if err != nil {
				return false, fmt.Errorf("tell the maintainer: %w", err)
			}
			refused = append(refused, refusal{answer.Source, p.Detail, problems})
			if wanted, err := l.stillWanted(ctx, r.Workflow); err != nil || !wanted {
				return false, errors.Join(err, p)
			}
		default:
			return false, err
		}
	}
}

func noted(note string) string {
	if note == "" {
		return ""
	}
	return ": " + note
}

// evidence is the evidence of the engine, with the answers that the engine has refused.
func (l *Loop) evidence(ctx context.Context, r request, refused []refusal) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	err := l.Client.Do(ctx, "getEvidence", map[string]any{"workflow": r.Workflow, "run": r.Run}, &fields)
	if err != nil {
		return nil, fmt.Errorf("gather the evidence: %w", err)
	}
	if len(refused) > 0 {
		if fields["refused"], err = json.Marshal(refused); err != nil {
			return nil, fmt.Errorf("gather the evidence: %w", err)
		}
	}
	document, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("gather the evidence: %w", err)
	}
	return document, nil
}

// ask asks the maintainer, and bounds the time of the answer.
func (l *Loop) ask(ctx context.Context, r request, evidence json.RawMessage) (Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Timeout, fmt.Errorf("the maintainer took longer than %s", l.Timeout))
	defer cancel()
	text, err := l.Maintainer.Maintain(ctx, r.Workflow, evidence)
	if err != nil {
		return Answer{}, err
	}
	answer, err := parse(text)
	if err != nil {
		return Answer{}, fmt.Errorf("read the maintainer's answer: %w", err)
	}
	return answer, nil
}

// stillWanted reports whether the engine wants a repair of the workflow.
func (l *Loop) stillWanted(ctx context.Context, workflow string) (bool, error) {
	var w struct{ Repair *struct{} }
	err := l.Client.Do(ctx, "getWorkflow", map[string]any{"workflow": workflow}, &w)
	return w.Repair != nil, err
}

// review decides whether an answer goes to the engine now. Here the effects of the repaired script can be compared with
// those of the failed one, before anything is changed. With proposals a person decides: the answer and the script that
// failed are written into files, and the person repairs.
func (l *Loop) review(_ context.Context, r request, evidence json.RawMessage, answer Answer) (goOn bool, err error) {
	if l.Proposals == "" {
		return true, nil
	}
	var of struct{ Source string }
	if err := json.Unmarshal(evidence, &of); err != nil {
		return false, fmt.Errorf("read the evidence: %w", err)
	}
	proposed := filepath.Join(l.Proposals, r.Workflow+".ts")
	for path, text := range map[string]string{proposed: answer.Source,
		filepath.Join(l.Proposals, r.Workflow+".before.ts"): of.Source} {
		// WriteFile replaces a link at the path, and leaves the file that the link leads to as it is.
		if err := durable.WriteFile(path, []byte(text)); err != nil {
			return false, fmt.Errorf("propose the repair: %w", err)
		}
	}
	l.Report(r.Workflow, "a repair is proposed"+noted(answer.Note)+"; look at it, then: pawl repair "+r.Workflow+" "+
		proposed)
	return false, nil
}
