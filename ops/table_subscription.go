package ops

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/ops/subscription"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	resumeSubscriptionRequest struct {
		Name string `json:"name" in:"path" jsonschema:"the name of the subscription, or alert, in the configuration"`
		Skip bool   `json:"skip,omitempty" jsonschema:"leave the message undelivered that its receiver refuses, and go on behind it"`
	}
	resumedSubscription struct {
		subscription.Status
		Skipped *eventlog.SkippedMessage `json:"skipped" jsonschema:"the message that is left undelivered, null for none"`
	}
)

var subscriptionTable = []Operation{
	define(operation("listSubscriptions", "GET /v1/subscriptions", rpc.Viewer,
		"List the outgoing webhooks of the configuration, and how each stands"), listSubscriptions),
	define(operation("resumeSubscription", "POST /v1/subscriptions/{name}/resume", rpc.Operator,
		"Let a parked outgoing webhook go on with the message at which it was parked, or behind it"), resumeSubscription),
}

func listSubscriptions(_ context.Context, c *Call, _ *everything) (readmodel.Page[subscription.Status], error) {
	page := readmodel.Page[subscription.Status]{Items: []subscription.Status{}}
	if all := c.backend.cfg.Subscriptions; all != nil {
		page.Items = all.List()
	}
	return page, nil
}

func resumeSubscription(ctx context.Context, c *Call, r *resumeSubscriptionRequest) (answer resumedSubscription,
	err error) {
	err = subscription.ErrUnknown
	if all := c.backend.cfg.Subscriptions; all != nil {
		answer.Status, answer.Skipped, err = all.Resume(ctx, subscription.Resumption{Name: r.Name, Skip: r.Skip,
			By: c.Actor.Name, Record: func(skipped *eventlog.SkippedMessage) error {
				return c.backend.cfg.Engine.ResumeSubscription(ctx, c.Actor, decide.ResumeSubscription{
					Name: eventlog.SubscriptionName(r.Name), Skipped: skipped})
			}})
	}
	switch {
	case errors.Is(err, subscription.ErrUnknown):
		return answer, rpc.Problemf(http.StatusNotFound, "subscription.unknown",
			"the configuration has no subscription or alert %q", r.Name).
			WithHint("pawl subscriptions lists those that there are")
	case errors.Is(err, subscription.ErrNotParked):
		return answer, rpc.Problemf(http.StatusConflict, "subscription.notParked", "%v", err).
			WithHint("nothing was changed; pawl subscriptions shows how it stands")
	case errors.Is(err, subscription.ErrNotNoted):
		return answer, rpc.Problemf(http.StatusConflict, "subscription.notNoted", "%v", err).
			WithHint("resume it without skip: if its receiver refuses the message again, it is parked again, and can skip it")
	}
	return answer, err
}

// troubled are the outgoing webhooks that fail or are parked.
func (b *backend) troubled() []subscription.Status {
	if b.cfg.Subscriptions == nil {
		return []subscription.Status{}
	}
	return slices.DeleteFunc(b.cfg.Subscriptions.List(), func(s subscription.Status) bool {
		return s.State != subscription.StateFailing && s.State != subscription.StateParked
	})
}
