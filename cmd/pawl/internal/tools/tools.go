package tools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/natsservice"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/sandbox"
)

// Tools are the connectors that are found on NATS. A nil Tools has none.
type Tools struct {
	server   *embeddednats.Server
	registry *connector.Registry
	// dir holds the users of tools.
	dir    string
	logger *slog.Logger
	// builtin are the names of the connectors that need no NATS; no service takes their place.
	builtin []string
	// shared finds the tools that share one user.
	shared *natsservice.Watcher

	mu     sync.Mutex
	looked time.Time

	toolsMu sync.Mutex
	// own names the tools with a user of their own, tools finds them, each on its own connection.
	own   map[string]bool
	tools map[string]*natsservice.Watcher
	// unread is the last warning about users that cannot be read.
	unread string

	// end ends following, which closes done.
	end  context.CancelFunc
	done chan struct{}
}

const (
	// lookTime bounds one look for an operation that is unknown.
	lookTime = 5 * time.Second
	// lookAgain is how long the result of a look is used: one script may use several operations that no tool has, and
	// must not wait for a look for each. It is shorter than the start of a tool takes: otherwise the operation of a
	// tool that has just started would be refused.
	lookAgain = 10 * time.Millisecond
	// awaitInterval is how often an engine looks for tools that a workflow waits for.
	awaitInterval = 500 * time.Millisecond
	// WaitTimeout is how long an engine that is to end by itself waits for tools.
	WaitTimeout = 10 * time.Second
)

// Watch begins to look for services on the server's listener; dir holds the users of tools. Each watcher has
// a connection of its own: calls must fail while there is none, and not be sent later.
func Watch(
	ctx context.Context, server *embeddednats.Server, registry *connector.Registry, dir string, logger *slog.Logger,
) (*Tools, error) {
	s := &Tools{
		server: server, registry: registry, dir: dir, logger: logger, builtin: registry.Names(),
		own: make(map[string]bool), tools: make(map[string]*natsservice.Watcher), done: make(chan struct{}),
	}
	var err error
	s.shared, err = natsservice.New(natsservice.Config{
		Connect: server.ConnectConnectors, Registry: registry, Prefix: datadir.NATSPrefix, Logger: logger, Elsewhere: s.owned,
	})
	if err != nil {
		return nil, exit.Failed("", err)
	}
	var life context.Context
	life, s.end = context.WithCancel(context.Background())
	if err := s.Admit(ctx); err != nil {
		close(s.done)
		return nil, errors.Join(exit.Failed("", err), s.Close())
	}
	go func() {
		defer close(s.done)
		s.follow(life)
	}()
	return s, nil
}

// Close ends all watchers.
func (s *Tools) Close() error {
	s.end()
	<-s.done
	s.toolsMu.Lock()
	defer s.toolsMu.Unlock()
	errs := []error{s.shared.Close()}
	for _, w := range s.tools {
		errs = append(errs, w.Close())
	}
	return errors.Join(errs...)
}

// watchers are all watchers.
func (s *Tools) watchers() []*natsservice.Watcher {
	s.toolsMu.Lock()
	defer s.toolsMu.Unlock()
	list := []*natsservice.Watcher{s.shared}
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		list = append(list, s.tools[name])
	}
	return list
}

// Look looks for services now, because the name is not known, or to see which there are (with an empty name). It
// reports whether the services are known now.
func (s *Tools) Look(ctx context.Context, name string) bool {
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
	// All services are looked for whatever the name: a script may use many connectors, and asks for one after the
	// other.
	if !refresh(ctx, s.watchers()) {
		return false // the services that were known stay known; the watchers go on looking
	}
	s.looked = time.Now()
	return true
}

// refresh makes all watchers look at once, and reports whether all succeeded.
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

// Refused looks for services and says which are not offered to scripts.
func (s *Tools) Refused(ctx context.Context) []ops.RefusedService {
	s.Look(ctx, "")
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

// Missing lists the operations that a service could still bring.
func (s *Tools) Missing(uses []sandbox.OperationUse) []string {
	if s == nil {
		return nil
	}
	var list []string
	for _, use := range uses {
		full := use.Connector + "." + use.Operation
		if _, ours := builtin.Advice(use.Connector); ours || slices.Contains(s.builtin, use.Connector) ||
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

// Await waits until the operations are there.
func (s *Tools) Await(ctx context.Context, operations []string) error {
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
