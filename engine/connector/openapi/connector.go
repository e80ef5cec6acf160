package openapi

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/eventlog"
)

// maxDescription bounds the file, in bytes.
const maxDescription = 8 << 20

// Connector is one description. It implements connector.Connector by the http connector that it has of its own.
type Connector struct {
	name       string
	operations []connector.Operation
	described  map[string]*operation
	http       *httpcall.Connector
}

// newCaller makes what sends the requests.
func newCaller(config Config) (*httpcall.Connector, error) {
	at, err := url.Parse(config.URL)
	if err != nil {
		return nil, err
	}
	http, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{at.Host: config.Host},
		Secrets: config.Secrets})
	if err != nil {
		return nil, fmt.Errorf("connectors.openapi.%s.host: %w", config.Name, err)
	}
	return http, nil
}

// New reads the description. Errors name the file and what is wrong with it.
func New(config Config) (*Connector, error) {
	if err := config.Validate(config.Name); err != nil {
		return nil, err
	}
	info, err := os.Stat(config.Description)
	if err != nil {
		return nil, fmt.Errorf("read the description of %s: %w", config.Name, err)
	}
	if info.Size() > maxDescription {
		return nil, fmt.Errorf("the description %s has %d bytes, at most %d are read", config.Description, info.Size(),
			maxDescription)
	}
	text, err := os.ReadFile(config.Description)
	if err != nil {
		return nil, fmt.Errorf("read the description of %s: %w", config.Name, err)
	}
	logger := config.Logger
	if logger == nil {
		logger = slog.Default()
	}
	described, err := read(text, config.URL, func(operation string, why error) {
		logger.Warn("an operation of a description is not offered", "connector", config.Name, "operation", operation,
			"error", why)
	})
	if err != nil {
		return nil, fmt.Errorf("read the description %s: %w", config.Description, err)
	}
	c := &Connector{name: config.Name, described: map[string]*operation{}}
	if config.Offline {
		config.Host = config.Host.WithoutSecrets()
	}
	if c.http, err = newCaller(config); err != nil {
		return nil, err
	}
	for _, o := range described {
		o.Timeout = config.Host.Timeout
		o.Reconciles = o.Kind == connector.Mutate && config.Host.Reconcile != nil
		c.described[o.Name] = o
		c.operations = append(c.operations, o.Operation)
	}
	slices.SortFunc(c.operations, func(a, b connector.Operation) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return c, nil
}

// Close ends the calls that listen on, and drops idle connections.
func (c *Connector) Close() error { return c.http.Close() }

// Name implements connector.Connector.
func (c *Connector) Name() string { return c.name }

// Operations implements connector.Connector.
func (c *Connector) Operations() []connector.Operation { return c.operations }

// request translates an operation's call into one of the http connector.
func (c *Connector) request(call connector.Call) (connector.Call, *eventlog.Failure) {
	o := c.described[call.Operation]
	if o == nil {
		return call, connector.Failf(eventlog.Internal, connector.CodeKind, "%s describes no operation %s", c.name,
			call.Operation)
	}
	params, failure := o.request(call.Params)
	if failure != nil {
		return call, failure
	}
	call.Connector, call.Operation, call.Params = c.http.Name(), o.method, params
	return call, nil
}

// Read implements connector.Connector.
func (c *Connector) Read(ctx context.Context, call connector.Call) (json.RawMessage, error) {
	request, failure := c.request(call)
	if failure != nil {
		return nil, failure
	}
	return c.http.Read(ctx, request)
}

// Perform sends the mutation once, by the http connector.
func (c *Connector) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	request, failure := c.request(call)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	return c.http.Perform(ctx, request)
}

// Reconcile asks the host as its configuration says.
func (c *Connector) Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	request, failure := c.request(call)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	return c.http.Reconcile(ctx, request)
}

// CallCheck implements connector.CallChecker.
func (c *Connector) CallCheck(call connector.Call) *eventlog.Failure {
	request, failure := c.request(call)
	if failure != nil {
		return failure
	}
	return c.http.CallCheck(request)
}

// CallAnswer implements connector.CallAnswerer.
func (c *Connector) CallAnswer(call connector.Call, answer json.RawMessage) connector.Outcome {
	request, failure := c.request(call)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	return c.http.CallAnswer(request, answer)
}

// ReconcilesCall implements connector.CallReconciler.
func (c *Connector) ReconcilesCall(call connector.Call) bool {
	request, failure := c.request(call)
	return failure == nil && c.http.ReconcilesCall(request)
}

// CallResends implements connector.CallResender.
func (c *Connector) CallResends(call connector.Call) time.Duration {
	request, failure := c.request(call)
	if failure != nil {
		return 0
	}
	return c.http.CallResends(request)
}

// CallEnding implements connector.EndingDescriber.
func (c *Connector) CallEnding(call connector.Call) connector.Ending {
	request, failure := c.request(call)
	if failure != nil {
		return connector.DefaultEnding()
	}
	return c.http.CallEnding(request)
}

// CallTimeout implements connector.CallTimeouter.
func (c *Connector) CallTimeout(call connector.Call) time.Duration {
	request, failure := c.request(call)
	if failure != nil {
		return 0
	}
	return c.http.CallTimeout(request)
}

// CallHost implements connector.HostNamer.
func (c *Connector) CallHost(call connector.Call) string {
	request, failure := c.request(call)
	if failure != nil {
		return ""
	}
	return c.http.CallHost(request)
}

// MayWait implements connector.TurnWaiter. CallTurn is always asked: it also refuses a call that makes no request,
// before the call is recorded.
func (c *Connector) MayWait() bool { return true }

// CallTurn implements connector.TurnWaiter.
func (c *Connector) CallTurn(ctx context.Context, call connector.Call) (connector.Turn, *eventlog.Failure) {
	request, failure := c.request(call)
	if failure != nil {
		return nil, failure
	}
	return c.http.CallTurn(ctx, request)
}

// Waiting implements connector.CallsWaiter.
func (c *Connector) Waiting(workflow eventlog.WorkflowName) []connector.Waiting {
	return c.http.Waiting(workflow)
}
