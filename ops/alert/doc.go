// Package alert finds what a person should be told of: that a workflow needs a person, that events of it are
// discarded, that it needs attention. What it finds it publishes to the stream PAWL_ALERTS, from where subscriptions
// post it.
//
// The rule: what begins is told once (raised), again when it begins anew or for another reason, and every 24 hours
// while it lasts (repeated). That it is over is told when it has been over for a minute (resolved). Of one condition of
// one workflow nothing is raised within five minutes of the last time, so a burst of held events is one alert.
//
// Guaranteed: the explanation and the commands are those of `pawl why`. What was told is the stream itself, so
// neither a restart nor a kill makes it forget or repeat.
//
// Not guaranteed: that an alert is told at once; a second may pass, and half a minute where no transition says it. What
// begins and ends within that time is not told. Nothing that concerns the delivery of alerts is an alert.
package alert
