package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// accepted is what accepting a loss came to.
type accepted struct {
	// Lost has a line for everything that is missing.
	Lost []string `json:"lost"`
	// Held workflows may lack their newest transitions; Broken ones lack some in the middle.
	Held   []eventlog.WorkflowName `json:"held"`
	Broken []eventlog.WorkflowName `json:"broken"`
}

// lossFile is there while a loss is being accepted. An engine that started in the middle of that
// would run workflows that must be held.
func (in *installation) lossFile() string { return filepath.Join(in.settings.Data, "loss.accepting") }

// acceptLoss makes a damaged log usable again, with the engine stopped: what is missing is written
// down as accepted, and every workflow whose past is not proven to be whole is held.
func (a *app) acceptLoss(connected *connection) (result accepted, err error) {
	s, err := a.stoppedData(connected)
	if err != nil {
		return result, err
	}
	in := &installation{settings: s, logger: a.logger()}
	defer func() { err = in.end(err) }()
	if err := in.openBroker(a.ctx); err != nil {
		return result, err
	}
	before, err := os.ReadFile(in.lossFile())
	interrupted := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return result, failed("", fmt.Errorf("look for an interrupted acceptance: %w", err))
	}
	if err := writeFile(in.lossFile(), before); err != nil {
		return result, failed("", fmt.Errorf("begin to accept the loss: %w", err))
	}
	lost, err := jslog.AcceptLoss(a.ctx, in.nc, in.logConfig())
	if err != nil {
		return result, explainLog(s.Data, err)
	}
	if len(before) > 0 {
		lost = append(strings.Split(string(before), "\n"), lost...)
	}
	if err := writeFile(in.lossFile(), []byte(strings.Join(lost, "\n"))); err != nil {
		return result, failed("", fmt.Errorf("write down what is lost: %w", err))
	}
	if err := in.openLog(a.ctx); err != nil {
		return result, err
	}
	result = accepted{Lost: lost, Held: []eventlog.WorkflowName{}, Broken: []eventlog.WorkflowName{}}
	changed := len(lost) > 0 || interrupted
	if !changed {
		if err := os.Remove(in.lossFile()); err != nil {
			return result, failed("remove it yourself", fmt.Errorf("end the acceptance: %w", err))
		}
	}
	if err := recordLoss(a.ctx, in, actorNamed(connected.Actor), &result, interrupted); err != nil {
		return result, err
	}
	if changed {
		// The log's identity is another one now: what the store knows of it is worthless.
		if err := in.store.Reset(); err != nil {
			return result, failed("delete "+filepath.Join(s.Data, "store")+"; it is rebuilt from the log", fmt.Errorf("empty the local store: %w", err))
		}
		if err := os.Remove(in.lossFile()); err != nil {
			return result, failed("remove it yourself", fmt.Errorf("end the acceptance: %w", err))
		}
	}
	return result, nil
}

func recordLoss(ctx context.Context, in *installation, actor eventlog.Actor, result *accepted, interrupted bool) error {
	clock, err := in.clock(ctx)
	if err != nil {
		return failed("", err)
	}
	pasts, err := engine.RecordLoss(ctx, in.log, engine.Loss{
		Actor: actor, At: eventlog.At(clock.Now()), Detail: oneLine(strings.Join(result.Lost, "; "), 2000),
		// Who was interrupted may not know any more what was missing.
		End: interrupted || !onlyHoles(result.Lost),
	})
	if err != nil {
		return failed("nothing runs before this is done: pawl verify --accept-loss again", err)
	}
	for _, past := range pasts {
		if past.Broken {
			result.Broken = append(result.Broken, past.Workflow)
		} else {
			result.Held = append(result.Held, past.Workflow)
		}
	}
	return nil
}

// onlyHoles reports whether everything lost shows as a hole in the log. Whatever else a line may
// say, the newest messages may be gone.
func onlyHoles(lost []string) bool {
	for _, line := range lost {
		if _, what, found := strings.Cut(line, ": "); !found || !strings.HasPrefix(what, "messages ") {
			return false
		}
	}
	return true
}

func (a *app) printAccepted(r accepted, asJSON bool) error {
	if asJSON {
		document, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("print what was accepted: %w", err)
		}
		return a.printJSON(document)
	}
	for _, line := range r.Lost {
		fmt.Fprintf(a.stdout, "accepted as lost: %s\n", line)
	}
	for _, name := range r.Held {
		fmt.Fprintf(a.stdout, "%s is held: its newest transitions may be among what is lost. Look at the other side, then: pawl resume %s\n", name, name)
	}
	for _, name := range r.Broken {
		fmt.Fprintf(a.stdout, "%s stays out of service: transitions in the middle of its past are lost. To go on, deploy its script under another name.\n", name)
	}
	if len(r.Lost) == 0 {
		fmt.Fprintln(a.stdout, "nothing is missing, nothing was changed")
	}
	return nil
}
