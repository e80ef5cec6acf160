package maintain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/ops/rpc"
)

// Run cares for workflows until ctx ends; with once, until nothing is left that it could do. It fails when the engine
// cannot be asked.
func (l *Loop) Run(ctx context.Context, once bool) error {
	l.defaults()
	defer l.ended.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if once {
		return l.all(ctx)
	}
	changed, broken := make(chan struct{}, 1), make(chan error, 1)
	go func() { broken <- l.follow(ctx, changed) }()
	for {
		if err := l.look(ctx); err != nil {
			return err
		}
		timer := time.NewTimer(l.Pause)
		select {
		case <-changed:
		case <-timer.C:
		case err := <-broken:
			timer.Stop()
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		timer.Stop()
	}
}

// all cares for workflows that want a repair, until it finds none that was not tried.
func (l *Loop) all(ctx context.Context) error {
	for {
		begun, err := l.begin(ctx)
		l.ended.Wait()
		if err != nil || begun == 0 || ctx.Err() != nil {
			return err
		}
	}
}

// look begins the repairs that are wanted now.
func (l *Loop) look(ctx context.Context) error {
	_, err := l.begin(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// follow sends to changed after each transition that may have made a repair necessary.
func (l *Loop) follow(ctx context.Context, changed chan<- struct{}) error {
	for _, err := range l.Client.Log(ctx, rpc.LogQuery{Tail: 1, Type: wants, Follow: true}) {
		var p *rpc.Problem
		if err != nil && !errors.As(err, &p) {
			return fmt.Errorf("follow the log: %w", err)
		}
		select {
		case changed <- struct{}{}:
		default: // a look is due already
		}
	}
	return errors.New("follow the log: it has ended")
}

// begin starts a goroutine for each workflow that wants a repair and is not cared for yet. It returns their number.
func (l *Loop) begin(ctx context.Context) (begun int, err error) {
	wanted, err := l.wanted(ctx)
	if err != nil {
		return 0, err
	}
	for _, r := range wanted {
		l.mu.Lock()
		last := l.tried[r.Workflow]
		if l.atWork[r.Workflow] || last.request == r && l.Now().Before(last.again) {
			l.mu.Unlock()
			continue
		}
		l.atWork[r.Workflow] = true
		l.mu.Unlock()
		begun++
		l.ended.Go(func() {
			again := l.care(ctx, r)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.atWork[r.Workflow] = false
			l.tried[r.Workflow] = attempt{r, again}
		})
	}
	return begun, nil
}
