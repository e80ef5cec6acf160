package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/natsservice"
)

// callerInbox is where the commands of this program get their answers: a listener's other users
// read below _INBOX.
const callerInbox = "_INBOX_" + natsCaller

// natsCaller connects to the NATS listener of the engine that runs on the data directory.
func (a *app) natsCaller() (natsservice.ConnectFunc, error) {
	file, err := a.readConfig()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(first(a.common.Data, file.Data, defaultData), natsDir, natsCaller+".url")
	unreachable := func(err error) error {
		return &failure{code: exitUnreachable, what: "no engine with a NATS listener runs on this data directory", err: err,
			hint: "start one: pawl up --nats-listen 127.0.0.1:4222; or name its directory: --data DIR"}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unreachable(err)
	}
	connect := natsservice.ConnectURL(strings.TrimSpace(string(text)), nats.CustomInboxPrefix(callerInbox))
	// The file outlives its engine, and a watcher would wait for its return.
	probe, err := connect(nats.Name("pawl"))
	if err != nil {
		return nil, unreachable(err)
	}
	probe.Close()
	return connect, nil
}

// refusedServices lists what is found on NATS and not offered to scripts. offers is what the engine
// offers. Without a listener that can be asked from here there is nothing to say.
func (a *app) refusedServices(flags clientFlags, offers []offered) ([]natsservice.Refusal, error) {
	if flags.URL != "" {
		return nil, nil // an engine elsewhere; its log says what it refuses
	}
	connect, err := a.natsCaller()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	registry, err := connector.NewRegistry()
	if err != nil {
		return nil, fmt.Errorf("look for refused services: %w", err)
	}
	watcher, err := natsservice.New(natsservice.Config{Connect: connect, Registry: registry, Prefix: natsPrefix})
	if err != nil {
		return nil, fmt.Errorf("look for refused services: %w", err)
	}
	defer func() { _ = watcher.Close() }()
	ctx, cancel := context.WithTimeout(a.ctx, lookTime)
	defer cancel()
	if err := watcher.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("look for refused services: %w", err)
	}
	refused := watcher.Refused()
	for _, o := range offers {
		// The engine's own connector of that name stands in the way of a service that looks otherwise.
		service, found := registry.Connector(o.Name)
		if _, builtin := compiledIn[o.Name]; builtin && found && !o.is(service.Operations()) {
			refused = append(refused, natsservice.Refusal{Service: o.Name, Reason: "there is a compiled-in connector of that name, which wins"})
		}
	}
	return refused, nil
}

// is compares what an engine offers with what a service does.
func (o offered) is(operations []connector.Operation) bool {
	if len(o.Operations) != len(operations) {
		return false
	}
	for _, op := range o.Operations {
		if !slices.ContainsFunc(operations, func(other connector.Operation) bool { return other.Name == op.Name }) {
			return false
		}
	}
	return true
}

// printRefused says on standard error why services are not offered; of all, or of one.
func (a *app) printRefused(flags clientFlags, offers []offered, name string) {
	refused, err := a.refusedServices(flags, offers)
	if err != nil {
		fmt.Fprintf(a.stderr, "services that are refused, if any, are not shown: %v\n", err)
	}
	for _, r := range refused {
		if name == "" || r.Service == name {
			fmt.Fprintf(a.stderr, "refused: %s\n", oneLine(r.String(), 1000))
		}
	}
}
