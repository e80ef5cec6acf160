package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/loss"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/projections/store"
)

// Accepted is what accepting a loss came to.
type Accepted struct {
	// Lost has a line for everything that is missing.
	Lost []string `json:"lost"`
	// Held workflows may lack their newest transitions; of those in SetAside it is known which count no
	// more. Broken ones stay out of service.
	Held     []eventlog.WorkflowName          `json:"held"`
	SetAside map[eventlog.WorkflowName]string `json:"setAside"`
	Broken   []eventlog.WorkflowName          `json:"broken"`
	// Skipped counts, by workflow, the events that may have been handled: only a redrive that says so brings them
	// back. Mutations of those in Asks need approval.
	Skipped map[eventlog.WorkflowName]int `json:"skipped,omitempty"`
	Asks    []eventlog.WorkflowName       `json:"asks,omitempty"`
	// Foreign messages of no workflow were set aside.
	Foreign int `json:"foreign"`
	// GivenUp are the mutation calls whose records are given up; Report is the file that lists them, empty
	// when there are none.
	GivenUp int    `json:"givenUp"`
	Report  string `json:"report,omitempty"`
	// TokensRevoked says that no named token opens anything any more.
	TokensRevoked bool `json:"tokensRevoked"`
}

// TokensRevoked says what a loss has done to named tokens.
const TokensRevoked = "every named token is revoked, since a revocation may be among what is lost; make new ones: pawl tokens create NAME --role ROLE"

// AcceptLoss makes a damaged log usable again, with the engine stopped: what is missing is written
// down as accepted, and every workflow whose past is not proven to be whole is held.
func AcceptLoss(
	ctx context.Context, s config.Settings, with Parts, logger *slog.Logger, actor eventlog.Actor, report string,
) (result Accepted, err error) {
	if err := mayReport(report); err != nil {
		return result, err
	}
	in := &Node{Settings: s, with: with, logger: logger, stopped: true, accepts: true}
	defer func() { err = in.end(err) }()
	if err := in.openBroker(ctx); err != nil {
		return result, err
	}
	known, interrupted, err := in.begunAcceptance()
	if err != nil {
		return result, err
	}
	note := func() error { return in.noteAcceptance(known) }
	if err := note(); err != nil {
		return result, err
	}
	lost, err := jslog.AcceptLoss(ctx, in.NC, in.logConfig())
	if err != nil {
		return result, explainLog(s.Data, err)
	}
	known.add(lost.End, lost.Lines...)
	if err := note(); err != nil {
		return result, err
	}
	if err := in.openLog(ctx); err != nil {
		return result, err
	}
	ahead, err := loss.FindAhead(ctx, in.Log, in.store)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return result, exit.Failed("", err)
	}
	for _, one := range ahead {
		known.add(true, one.String())
	}
	if err := note(); err != nil {
		return result, err
	}
	if err := in.startEpochs(ctx, ahead); err != nil {
		return result, err
	}
	result = Accepted{
		Lost: append([]string{}, known.Lines...), Held: []eventlog.WorkflowName{},
		SetAside: map[eventlog.WorkflowName]string{}, Broken: []eventlog.WorkflowName{},
	}
	err = in.recordLoss(ctx, &result, loss.Loss{
		Actor: actor, Cause: eventlog.Cause{Kind: "api", ID: "acceptLoss"},
		End:   known.End,
		Store: in.store, Report: func(calls []loss.GivenUp) (err error) {
			result.GivenUp = len(calls)
			result.Report, err = in.reportGivenUp(calls, report)
			return err
		},
	})
	if err != nil {
		return result, err
	}
	if len(known.Lines) > 0 || interrupted || len(result.SetAside) > 0 || result.Foreign > 0 {
		// The log's identity is another one now: what the store knows of it is worthless.
		if err := in.store.Reset(); err != nil {
			return result, exit.Failed("delete "+filepath.Join(s.Data, "store")+"; it is rebuilt from the log", fmt.Errorf("empty the local store: %w", err))
		}
	}
	if err := os.Remove(in.lossFile()); err != nil {
		return result, exit.Failed("remove it yourself", fmt.Errorf("end the acceptance: %w", err))
	}
	return result, nil
}

// startEpochs makes what the local store knows of these partitions worthless, and every other note of
// their positions: sequences after a lost end are used again.
func (in *Node) startEpochs(ctx context.Context, ahead []loss.Ahead) error {
	for _, one := range ahead {
		if _, err := in.Log.SetAside(ctx, one.Partition, nil); err != nil {
			return exit.Failed("", fmt.Errorf("accept the loss: %w", err))
		}
	}
	return nil
}

func (in *Node) recordLoss(ctx context.Context, result *Accepted, lost loss.Loss) error {
	clock, err := in.clock(ctx)
	if err != nil {
		return exit.Failed("", err)
	}
	lost.At, lost.Detail = eventlog.At(clock.Now()), term.OneLine(strings.Join(result.Lost, "; "), 2000)
	pasts, err := loss.Record(ctx, in.Log, lost)
	if err != nil {
		return exit.Failed("nothing runs before this is done: pawl verify --accept-loss again", err)
	}
	for _, past := range pasts {
		if past.Workflow == eventlog.Installation && !past.Broken {
			result.TokensRevoked = true
			continue
		}
		if past.Workflow == "" {
			result.Foreign += past.SetAside.Transitions
			if past.Broken {
				result.Broken = append(result.Broken, "")
			}
			continue
		}
		if past.Skipped > 0 {
			if result.Skipped == nil {
				result.Skipped = map[eventlog.WorkflowName]int{}
			}
			result.Skipped[past.Workflow] = past.Skipped
		}
		if past.Asks {
			result.Asks = append(result.Asks, past.Workflow)
		}
		if past.SetAside != nil {
			result.SetAside[past.Workflow] = past.SetAside.String()
		}
		if past.Broken {
			result.Broken = append(result.Broken, past.Workflow)
		} else {
			result.Held = append(result.Held, past.Workflow)
		}
	}
	return nil
}

// Ended says of which workflows events were ended that may not be done yet, and which calls need a person now.
func (r *Accepted) Ended() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Skipped)) {
		lines = append(lines, fmt.Sprintf("%s: %s skipped, since it is not known whether they were handled. They are among: pawl jobs list --workflow %s --state cancelled; "+
			"those that were not done come back with: pawl redrive %s TOPIC MESSAGE-ID --including-unknown", name, term.Plural(r.Skipped[name], "event"), name, name))
	}
	for _, name := range r.Asks {
		lines = append(lines, fmt.Sprintf("%s: mutations ask for approval (grant `ask`). The grants: pawl grants %s", name, name))
	}
	return lines
}
