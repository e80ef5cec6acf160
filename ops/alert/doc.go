// Package alert finds out that a workflow needs a person, that events of it are discarded, or that it needs attention.
// It publishes what it finds to the stream PAWL_ALERTS, from where subscriptions post it.
//
// The rule: a condition that begins is raised, and raised again when it begins anew or for another reason. It is
// repeated every 24 hours while it lasts, and resolved when it has been over for a minute. One condition of one
// workflow is not raised twice within five minutes, so a burst of held events is one alert.
//
// Guaranteed: the explanation and the commands are those of `pawl why`. The stream itself is the record of the issued
// alerts, so no alert is forgotten or issued twice because of a restart or a kill.
//
// Not guaranteed: that an alert comes at once. A second may pass, and half a minute where no transition shows the
// condition. A condition that begins and ends within that time is not found. Trouble with the delivery of alerts raises
// no alert.
package alert
