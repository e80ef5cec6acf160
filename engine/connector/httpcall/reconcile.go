package httpcall

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// Reconcile asks the host what became of a mutation, with the one GET its configuration names.
func (c *Connector) Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	answer := c.reconcile(ctx, call)
	answer.Failure = c.blanks.now.Load().Failure(answer.Failure)
	return answer
}

func (c *Connector) reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	p, t, failure := c.parse(call)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	rules := t.host.reconcile
	if rules == nil {
		return connector.RetryWith(connector.Failf(eventlog.Internal, connector.CodeKind,
			"the host %s is configured without reconcile", t.host.name))
	}
	if rules.Resend {
		return connector.RetryWith(connector.Failf(eventlog.Internal, connector.CodeKind, "the host %s is not asked: its "+
			"calls are sent again, and this one was made before it was configured so", t.host.name))
	}
	asked, err := t.url.Parse(strings.ReplaceAll(rules.Get, keyPlaceholder, escapeKey(call.Key)))
	if err != nil || asked.Host != t.url.Host {
		return connector.RetryWith(connector.Failf(eventlog.Internal, "http.reconcile",
			"connectors.http.hosts.%s.reconcile.get gives no usable address", t.host.name))
	}
	t.url, t.wire = asked, nil // of the secrets only those in headers are sent: they name the caller
	headers := make(http.Header)
	addHostHeaders(headers, t, call)
	a, failure := c.exchange(ctx, call, newRequest(http.MethodGet, t, headers), t, t.host.oauth, true)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	if a.err != nil && !errors.Is(a.err, errTooBig) {
		return connector.RetryWith(noAnswer(ctx, call, placeOf("GET", t), a.err))
	}
	switch a.status {
	case rules.Applied.Status:
		result, err := a.result(p.ResponseEncoding)
		if err != nil {
			return connector.RetryWith(connector.Failf(eventlog.Internal, connector.CodeAnswer,
				"%s answered %d, but %v", placeOf("GET", t), a.status, err))
		}
		return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: result}
	case rules.Failed.Status:
		return connector.Reconciliation{Verdict: connector.VerdictFailed, Failure: connector.Failf(eventlog.Transient,
			connector.CodeNotApplied,
			"%s answered %d: the call did not take effect", placeOf("GET", t), a.status)}
	default:
		failure := connector.Failf(eventlog.Transient, "http.reconcile",
			"%s answered %d, which says neither applied nor failed%s", placeOf("GET", t), a.status, a.excerpt())
		failure.RetryAfter = a.retryAfter()
		return connector.RetryWith(failure)
	}
}

// escapeKey percent-encodes the key for any place in a path or query.
func escapeKey(key string) string {
	return strings.ReplaceAll(url.QueryEscape(key), "+", "%20")
}
