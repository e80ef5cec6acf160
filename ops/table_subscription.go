package ops

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/ops/subscription"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type subscriptionRequest struct {
	Name string `json:"name" in:"path" jsonschema:"the name of the subscription, or alert, in the configuration"`
}

var subscriptionTable = []Operation{
	define(operation("listSubscriptions", "GET /v1/subscriptions", rpc.Viewer,
		"List the outgoing webhooks of the configuration, and how each stands"), listSubscriptions),
	define(operation("resumeSubscription", "POST /v1/subscriptions/{name}/resume", rpc.Operator,
		"Let a parked outgoing webhook go on with the message at which it was parked"), resumeSubscription),
}

func listSubscriptions(_ context.Context, c *Call, _ *everything) (readmodel.Page[subscription.Status], error) {
	page := readmodel.Page[subscription.Status]{Items: []subscription.Status{}}
	if all := c.backend.cfg.Subscriptions; all != nil {
		page.Items = all.List()
	}
	return page, nil
}

func resumeSubscription(ctx context.Context, c *Call, r *subscriptionRequest) (subscription.Status, error) {
	status, err := subscription.Status{}, subscription.ErrUnknown
	if all := c.backend.cfg.Subscriptions; all != nil {
		status, err = all.Resume(ctx, c.Actor.Name, r.Name)
	}
	switch {
	case errors.Is(err, subscription.ErrUnknown):
		return status, rpc.Problemf(http.StatusNotFound, "subscription.unknown",
			"the configuration has no subscription or alert %q", r.Name).
			WithHint("pawl subscriptions lists those that there are")
	case errors.Is(err, subscription.ErrNotParked):
		return status, rpc.Problemf(http.StatusConflict, "subscription.notParked", "%v", err).
			WithHint("nothing was changed; pawl subscriptions shows how it stands")
	}
	return status, err
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
