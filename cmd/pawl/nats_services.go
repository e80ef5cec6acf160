package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/natsservice"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/sandbox"
)

// services are the connectors that are found on NATS. A nil one has none.
type services struct {
	in       *installation
	registry *connector.Registry
	// builtin are the connectors that are there without NATS; no service takes their place.
	builtin []string
	// shared finds the tools that share one user.
	shared *natsservice.Watcher

	mu     sync.Mutex
	looked time.Time

	toolsMu sync.Mutex
	// own names the tools with a user of their own, tools finds them, each on its own connection.
	own   map[string]bool
	tools map[string]*natsservice.Watcher
	// unread is what was last said about users that cannot be read.
	unread string
}

const (
	// lookTime bounds one look for an operation that is unknown.
	lookTime = 5 * time.Second
	// lookAgain is for how long the services found are taken for all there are: one script may
	// use several operations that nobody has, and is not to wait for each. It is shorter than a
	// tool takes to start, or one that is there already would be refused.
	lookAgain = 10 * time.Millisecond
	// awaitInterval is how often tools are looked for that a workflow waits for.
	awaitInterval = 500 * time.Millisecond
	// patience is how long an engine that is to end by itself waits for tools.
	patience = 10 * time.Second
)

// watchServices begins to look for services, if there is a listener. Each watcher has a connection of
// its own: calls must fail while there is none, and not be sent later.
func (in *installation) watchServices(ctx context.Context) error {
	if in.server.ClientURL() == "" {
		return nil
	}
	s := &services{in: in, registry: in.registry, builtin: in.registry.Names(), own: make(map[string]bool), tools: make(map[string]*natsservice.Watcher)}
	var err error
	s.shared, err = natsservice.New(natsservice.Config{
		Connect: in.server.ConnectConnectors, Registry: in.registry, Prefix: natsPrefix, Logger: in.logger, Elsewhere: s.owned,
	})
	if err != nil {
		return exit.Failed("", err)
	}
	// By then the engine has ended, and the broker has not: calls that are open have had their time.
	in.onClose(s.close)
	if err := s.admit(ctx); err != nil {
		return exit.Failed("", err)
	}
	life, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.follow(life)
	}()
	in.onClose(func() error { end(); <-done; return nil })
	in.services = s
	return nil
}

// close ends all watchers.
func (s *services) close() error {
	s.toolsMu.Lock()
	defer s.toolsMu.Unlock()
	errs := []error{s.shared.Close()}
	for _, w := range s.tools {
		errs = append(errs, w.Close())
	}
	return errors.Join(errs...)
}

// watchers are all of them.
func (s *services) watchers() []*natsservice.Watcher {
	s.toolsMu.Lock()
	defer s.toolsMu.Unlock()
	list := []*natsservice.Watcher{s.shared}
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		list = append(list, s.tools[name])
	}
	return list
}

// look looks for services now, because nobody is known by the name, or to see who is there (no
// name). It reports whether it did.
func (s *services) look(ctx context.Context, name string) bool {
	if s == nil || slices.Contains(s.builtin, name) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.looked) < lookAgain {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	// All of them whatever the name: one script may use many connectors, and the next question is for another.
	if !refresh(ctx, s.watchers()) {
		return false // what is known stays known; the watchers go on looking
	}
	s.looked = time.Now()
	return true
}

// refresh makes all watchers look at once, and reports whether all could.
func refresh(ctx context.Context, watchers []*natsservice.Watcher) bool {
	var all sync.WaitGroup
	var failed atomic.Bool
	for _, w := range watchers {
		all.Go(func() {
			if w.Refresh(ctx) != nil {
				failed.Store(true)
			}
		})
	}
	all.Wait()
	return !failed.Load()
}

// refused looks for services and says which are not offered to scripts.
func (s *services) refused(ctx context.Context) []ops.RefusedService {
	s.look(ctx, "")
	var list []ops.RefusedService
	for _, w := range s.watchers() {
		for _, r := range w.Refused() {
			refused := ops.RefusedService{Service: r.Service, Reason: r.Reason}
			if r.Endpoint != "" {
				refused.Endpoint = &r.Endpoint
			}
			list = append(list, refused)
		}
	}
	return list
}

// missing lists the operations that a service could still bring.
func (s *services) missing(uses []sandbox.OperationUse) []string {
	if s == nil {
		return nil
	}
	var list []string
	for _, use := range uses {
		full := use.Connector + "." + use.Operation
		if _, unconfigured := compiledIn[use.Connector]; unconfigured || slices.Contains(s.builtin, use.Connector) ||
			connector.ValidateName(use.Connector) != nil || slices.Contains(list, full) {
			continue // waiting would not help
		}
		if _, ok := s.registry.Operation(use.Connector, use.Operation); !ok {
			list = append(list, full)
		}
	}
	slices.Sort(list)
	return list
}

// awaits lists the operations that the script needs and that nobody offers yet.
func (d deployer) awaits(ctx context.Context, s source) []string {
	if d.in.services == nil || d.unchanged(s) {
		return nil
	}
	definition, _, err := d.in.scripts.Describe(ctx, sandbox.Source{Filename: s.name(), Code: string(s.text)})
	if err != nil {
		return nil // the deploy says what is wrong
	}
	missing := d.in.services.missing(definition.Uses)
	if len(missing) == 0 {
		return nil
	}
	first, _, _ := strings.Cut(missing[0], ".")
	d.in.services.look(ctx, first)
	return d.in.services.missing(definition.Uses)
}

// await waits until tools offer what the script needs. When an engine that is to end by itself has
// waited long enough, the deploy says what is missing.
func (d deployer) await(ctx context.Context, s source, missing []string) error {
	d.in.announce() // who looks why nothing moves must know where to ask
	most := ""
	if d.in.settings.UntilIdle {
		most = fmt.Sprintf(", for at most %s", patience)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	fmt.Fprintf(d.screen.Out, "pawl: %s waits for %s%s: start the tools that serve them\n", shown(s.path), strings.Join(missing, ", "), most)
	err := d.in.services.await(ctx, missing)
	if ctx.Err() == context.DeadlineExceeded && d.in.settings.UntilIdle {
		return nil
	}
	return err
}

// await waits until the operations are there.
func (s *services) await(ctx context.Context, operations []string) error {
	pause := time.NewTicker(awaitInterval)
	defer pause.Stop()
	for {
		missing := slices.DeleteFunc(slices.Clone(operations), func(full string) bool {
			name, operation, _ := strings.Cut(full, ".")
			_, there := s.registry.Operation(name, operation)
			return there
		})
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", strings.Join(missing, ", "), ctx.Err())
		}
		refresh(ctx, s.watchers())
	}
}
