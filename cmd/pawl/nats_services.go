package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/natsservice"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/sandbox"
)

// services are the connectors that are found on NATS. A nil one has none.
type services struct {
	watcher  *natsservice.Watcher
	registry *connector.Registry
	// builtin are the connectors that are there without NATS; no service takes their place.
	builtin []string

	mu     sync.Mutex
	looked time.Time
}

const (
	// lookTime bounds one look for an operation that is unknown.
	lookTime = 5 * time.Second
	// lookAgain is for how long the services found are taken for all there are: one script may
	// use several operations that nobody has, and is not to wait for each. It is shorter than a
	// tool takes to start, or one that is there already would be refused.
	lookAgain = 10 * time.Millisecond
	// patience is how long an engine that is to end by itself waits for tools.
	patience = 10 * time.Second
)

// watchServices begins to look for services, if there is a listener. The watcher has a connection of
// its own: calls must fail while there is none, and not be sent later.
func (in *installation) watchServices() error {
	if in.server.ClientURL() == "" {
		return nil
	}
	builtin := in.registry.Names()
	watcher, err := natsservice.New(natsservice.Config{
		Connect: in.server.Connect, Registry: in.registry, Prefix: natsPrefix, Logger: in.logger,
	})
	if err != nil {
		return failed("", err)
	}
	// By then the engine has ended, and the broker has not: calls that are open have had their time.
	in.onClose(watcher.Close)
	in.services = &services{watcher: watcher, registry: in.registry, builtin: builtin}
	return nil
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
	if err := s.watcher.Refresh(ctx); err != nil {
		return false // what is known stays known; the watcher goes on looking
	}
	s.looked = time.Now()
	return true
}

// refused looks for services and says which are not offered to scripts.
func (s *services) refused(ctx context.Context) []ops.RefusedService {
	s.look(ctx, "")
	var list []ops.RefusedService
	for _, r := range s.watcher.Refused() {
		refused := ops.RefusedService{Service: r.Service, Reason: r.Reason}
		if r.Endpoint != "" {
			refused.Endpoint = &r.Endpoint
		}
		list = append(list, refused)
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
	fmt.Fprintf(d.stdout, "pawl: %s waits for %s%s: start the tools that serve them\n", shown(s.path), strings.Join(missing, ", "), most)
	err := d.in.services.watcher.Await(ctx, missing...)
	if ctx.Err() == context.DeadlineExceeded && d.in.settings.UntilIdle {
		return nil
	}
	return err
}
