package deploy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// maxHooks bounds the hooks of a workflow.
const maxHooks = 100

// hook checks a hook and takes it over.
func (c *check) hook(d sandbox.HookDefinition) {
	if n := len(c.in.Definition.Hooks); n > maxHooks {
		if len(c.accepted.Hooks) == 0 {
			c.refuse(CodeHooks, "make several workflows of it", "the workflow has %d hooks, at most %d are allowed", n, maxHooks)
			c.at(c.place("hooks"))
		}
		c.accepted.Hooks = append(c.accepted.Hooks, eventlog.Hook{})
		return
	}
	if eventlog.HookName(d.Name).Validate() != nil {
		c.refuse(CodeHookName, fmt.Sprintf("use %q", cmp.Or(usableToken(d.Name), "hook")),
			"hook name %q must have 1 to 64 letters, digits, - or _ and start with a letter or digit",
			eventlog.ClipName(d.Name))
		c.at(c.place("hooks", d.Name))
	}
	c.hookTopic(d)
	accepted := eventlog.Hook{
		Name: eventlog.HookName(d.Name), Topic: eventlog.Topic(d.Topic), Verify: c.hookVerify(d), ID: d.ID, Title: d.Title,
		Headers: d.Headers, Respond: hookAnswer(d.Respond),
	}
	unread := c.lacksAny([]string{"hooks", d.Name, "verify"})
	for _, f := range hook.Check(&accepted) {
		path := append([]string{"hooks", d.Name}, f.Member...)
		if c.lacksAny(path) || unread && f.Code == CodeHook {
			continue
		}
		c.refuse(f.Code, f.Fix, "hook %q: %s", eventlog.ClipName(d.Name), f.Message)
		c.at(c.place(path...))
	}
	if !unread {
		c.secret(d, accepted.Verify.Secret)
	}
	c.accepted.Hooks = append(c.accepted.Hooks, accepted)
}

// lacksAny reports whether a member, or anything that it is a part of, could not be read.
func (c *check) lacksAny(path []string) bool {
	return c.in.Definition.Lacks(path...) || slices.ContainsFunc(c.in.Definition.Unread, func(unread string) bool {
		return strings.HasPrefix(unread, sandbox.PlaceKey(path)+"/")
	})
}

func (c *check) hookTopic(d sandbox.HookDefinition) {
	if slices.Contains(c.in.Definition.Topics, d.Topic) || c.in.Definition.Lacks("topics") ||
		c.in.Definition.Lacks("hooks", d.Name, "topic") {
		return
	}
	fix := fmt.Sprintf("declare it: topics: { %q: {} }, or use one of the declared: %s", eventlog.ClipName(d.Topic),
		list(c.accepted.Topics))
	if close := similar.Names(d.Topic, c.in.Definition.Topics, 1); len(close) > 0 {
		fix = fmt.Sprintf("write %q, or %s", eventlog.ClipName(close[0]), fix)
	}
	c.refuse(CodeTopicUnknown, fix, "hook %q names topic %q, and topics does not declare it", eventlog.ClipName(d.Name),
		eventlog.ClipName(d.Topic))
	c.at(c.place("hooks", d.Name, "topic"))
}

// hookVerify turns what the script declares into what is pinned.
func (c *check) hookVerify(d sandbox.HookDefinition) eventlog.HookVerify {
	v := d.Verify
	switch {
	case v.None:
		return eventlog.HookVerify{Scheme: hook.SchemeNone}
	case v.Token != "":
		return eventlog.HookVerify{Scheme: hook.SchemeToken, Secret: v.Token, Header: v.Header, Query: v.Query}
	case v.HMAC == "":
		return eventlog.HookVerify{Scheme: v.Scheme, Secret: v.Secret}
	}
	out := eventlog.HookVerify{
		Scheme: hook.SchemeHMAC, Secret: v.Secret, Hash: v.HMAC, SecretEncoding: v.SecretEncoding, Signed: v.Signed,
	}
	if s := v.Signatures; s != nil {
		out.Signatures = &eventlog.HookSignatures{Header: s.Header, Split: s.Split, Prefix: s.Prefix, Encoding: s.Encoding}
	}
	if t := v.Timestamp; t != nil {
		tolerance := hook.DefaultTolerance
		if t.Tolerance != "" {
			var err error
			if tolerance, err = time.ParseDuration(t.Tolerance); err != nil {
				tolerance = 0 // which is refused
			}
		}
		out.Timestamp = &eventlog.HookTimestamp{Header: t.Header, In: t.In, Format: t.Format,
			ToleranceMS: tolerance.Milliseconds()}
	}
	return out
}

// The media types of answers.
const (
	mediaText = "text/plain; charset=utf-8"
	mediaJSON = "application/json"
)

func hookAnswer(a *sandbox.HookAnswer) *eventlog.HookAnswer {
	if a == nil {
		return nil
	}
	out := &eventlog.HookAnswer{Status: a.Status, Challenge: a.Challenge}
	switch {
	case a.Text != nil:
		out.Media, out.Body = mediaText, *a.Text
	case a.JSON != nil:
		out.Media, out.Body = mediaJSON, string(a.JSON)
	}
	return out
}

// secret refuses a secret that is not configured, and warns of one that is not granted.
func (c *check) secret(d sandbox.HookDefinition, name string) {
	if eventlog.ValidateConnectorName(name) != nil {
		return // none is needed, or a problem says that this is no name
	}
	at := c.place("hooks", d.Name, "verify", "secret")
	if d.Verify.Token != "" {
		at = c.place("hooks", d.Name, "verify", "token")
	}
	if !slices.Contains(c.in.Secrets, name) {
		fix := fmt.Sprintf("configure it: secrets: { %s: { value: \"${env:%s}\" } }", name, strings.ToUpper(name))
		if close := similar.Names(name, c.in.Secrets, 1); len(close) > 0 {
			fix = fmt.Sprintf("did you mean %s? Otherwise: %s", eventlog.ClipName(close[0]), fix)
		}
		c.add(cmp.Or(c.in.UnknownConnector, sandbox.SeverityError), CodeSecret, fix,
			"hook %q verifies with the secret %s, and none of that name is configured", eventlog.ClipName(d.Name),
			eventlog.ClipName(name))
		c.at(at)
		return
	}
	if c.in.UnknownConnector == "" && !capability.SecretGranted(c.in.Grants, name) {
		c.warn(CodeSecretGrant, "",
			"hook %q verifies with the secret %s, which the workflow is not granted; until it is, requests are answered "+
				"with 503", eventlog.ClipName(d.Name), eventlog.ClipName(name))
		c.at(at)
		c.hint(hint.GrantSecret, eventlog.ClipName(c.in.Definition.Name), eventlog.SecretCapability(name))
	}
}
