package decide

import (
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// ResumeSubscription records that a person has ended the parking of an outgoing webhook (O10). Whether it is parked is
// not known here: its position stands outside of the log.
type ResumeSubscription struct {
	Name eventlog.SubscriptionName
	// Skipped is the message that the person chose to leave undelivered; nil when it is tried again.
	Skipped *eventlog.SkippedMessage
}

func (ResumeSubscription) names(*projections.State, func(projections.Key)) {}

func (c ResumeSubscription) decide(d *decision) error {
	if err := eventlog.ValidateConnectorName(string(c.Name)); err != nil {
		return refuse(Invalid, "subscription.invalid", "the name of the outgoing webhook %v", err).hint(hint.Subscriptions)
	}
	d.lead(&eventlog.SubscriptionResumed{Name: c.Name, Skipped: c.Skipped})
	return nil
}
