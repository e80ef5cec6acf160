package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/csv"
	"github.com/pawl-run/pawl/engine/connector/files"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/connector/maildir"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint"
)

// connectors makes the compiled-in connectors that are configured.
func (in *installation) connectors() (*connector.Registry, error) {
	type closing interface {
		connector.Connector
		Close() error
	}
	c := in.settings.Connectors
	var list []connector.Connector
	add := func(made closing, err error) error {
		if err == nil {
			list = append(list, made)
			in.onClose(made.Close)
		}
		return err
	}
	if c.Maildir != nil {
		parser := in.with.MailParser
		if parser == nil {
			parser = mailParser
		}
		made, err := maildir.New(maildir.Config{Root: c.Maildir.Root, Timeout: c.Maildir.Timeout, Parser: parser, Logger: in.logger})
		if err := add(made, err); err != nil {
			return nil, err
		}
	}
	if c.Files != nil {
		made, err := files.New(files.Config{Root: c.Files.Root, Timeout: c.Files.Timeout})
		if err := add(made, err); err != nil {
			return nil, err
		}
	}
	if c.CSV != nil {
		made, err := csv.New(csv.Config{Root: c.CSV.Root, Timeout: c.CSV.Timeout})
		if err := add(made, err); err != nil {
			return nil, err
		}
	}
	if c.HTTP != nil {
		made, err := httpcall.New(*c.HTTP)
		if err := add(made, err); err != nil {
			return nil, err
		}
	}
	return connector.NewRegistry(list...)
}

// compiledIn says how each compiled-in connector is configured.
var compiledIn = map[string]string{
	"maildir": "give it a folder: --maildir DIR, or connectors.maildir.root in pawl.yaml",
	"files":   "give it a folder: --files DIR, or connectors.files.root in pawl.yaml",
	"csv":     "give it a folder: --csv DIR, or connectors.csv.root in pawl.yaml",
	"http":    "name the hosts it may call: connectors.http.hosts in pawl.yaml",
}

// adviseConnectors gives problems with connectors that this binary has, and that are only not
// configured, the advice that helps. A problem stands where its use stands.
func adviseConnectors(problems []sandbox.Problem, uses []sandbox.OperationUse) []sandbox.Problem {
	problems = slices.Clone(problems)
	for i, p := range problems {
		if p.Code != deploy.CodeConnector {
			continue
		}
		for _, use := range uses {
			if fix, ok := compiledIn[use.Connector]; ok && use.Line == p.Line && use.Column == p.Column {
				problems[i].Message = fmt.Sprintf("connector %s is not configured (%s.%s)", use.Connector, use.Connector, use.Operation)
				problems[i].Fix = fix
			}
		}
	}
	return problems
}

// adviseListening says of connectors that are unknown, and that this binary does not have, how a tool
// could bring them where none can connect: waiting for one would be in vain.
func adviseListening(problems []sandbox.Problem, uses []sandbox.OperationUse) []sandbox.Problem {
	problems = slices.Clone(problems)
	for i, p := range problems {
		if p.Code != deploy.CodeConnector {
			continue
		}
		for _, use := range uses {
			_, ours := compiledIn[use.Connector]
			meant := connector.ValidateName(use.Connector) == nil && lint.Advise(use.Connector) == ""
			if ours || !meant || use.Line != p.Line || use.Column != p.Column {
				continue
			}
			problems[i].Message += "; without --nats-listen no tool can connect and bring it"
			problems[i].Fix += "; for a tool on NATS start again with --nats-listen 127.0.0.1:4222"
		}
	}
	return problems
}

// unconfigured makes all compiled-in connectors, only to be asked what they offer: a check without
// an engine calls nothing.
func unconfigured() (*connector.Registry, func() error, error) {
	nowhere := &rootSettings{Root: os.TempDir()}
	in := &installation{settings: settings{Connectors: connectorSettings{
		Maildir: nowhere, Files: nowhere, CSV: nowhere,
		HTTP: &httpcall.Config{Hosts: map[string]httpcall.HostConfig{"localhost": {}}},
	}}}
	registry, err := in.connectors()
	return registry, in.close, err
}

// catalog gives the registry the shape that the engine asks for.
type catalog struct {
	deploy.Catalog
	*connector.Registry
	// services are looked for when an operation is unknown; nil without a listener.
	services *services
}

func newCatalog(r *connector.Registry) catalog {
	return catalog{Catalog: deploy.CatalogOf(r), Registry: r}
}

// Operation looks an operation up; a tool that was started a moment ago counts.
func (c catalog) Operation(name, operation string) (connector.Operation, bool) {
	op, ok := c.Registry.Operation(name, operation)
	if !ok && c.services.look(context.Background(), name) {
		return c.Registry.Operation(name, operation)
	}
	return op, ok
}

// Reconcile asks what became of a call. A tool that died under it and is back is found first: each
// question that nobody can be asked uses up an attempt.
func (c catalog) Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	if _, ok := c.Registry.Operation(call.Connector, call.Operation); !ok {
		c.services.look(ctx, call.Connector)
	}
	return c.Registry.Reconcile(ctx, call)
}

// Similar suggests names.
func (c catalog) Similar(name string) []string { return c.Registry.Similar(name) }
