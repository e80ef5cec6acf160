package config

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/secret"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/feed"
	"github.com/pawl-run/pawl/ops/outgoing"
	"github.com/pawl-run/pawl/ops/subscription"
)

// receiver is the address that webhooks are posted to.
type receiver struct {
	url string
	// sign is the name of a configured secret, or a reference to the value of a secret.
	sign    string
	private bool
	timeout time.Duration
	proxy   string
}

// subscriptions are the receivers of facts of the feed, by name.
type subscriptions map[string]subscriptionSettings

type subscriptionSettings struct {
	URL       string        `yaml:"url"`
	Secret    string        `yaml:"secret"`
	Private   bool          `yaml:"private"`
	Timeout   time.Duration `yaml:"timeout"`
	Proxy     string        `yaml:"proxy"`
	Facts     []string      `yaml:"facts"`
	Workflows []string      `yaml:"workflows"`
}

func (s subscriptionSettings) receiver() receiver {
	return receiver{s.URL, s.Secret, s.Private, s.Timeout, s.Proxy}
}

// Subscription is a configured subscription.
type Subscription struct {
	Name   string
	Target *outgoing.Target
	// Facts and Workflows choose what is sent to it; an empty list chooses all.
	Facts, Workflows []string
}

// validate refuses mistakes that can be seen without the secrets.
func (s subscriptions) validate(written *configText) error {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		key, one := "subscriptions."+name, s[name]
		if err := one.receiver().validate(written, "subscriptions", name); err != nil {
			return err
		}
		if one.Secret == "" {
			return exit.Misconfigured("write e.g. secret: \"${env:WEBHOOK_SECRET}\", or the name of one under secrets",
				"%s: %s has no secret, so its receiver could not tell what comes from here", written.place(key), key)
		}
		if _, err := subscription.FeedSubjects(feed.DefaultPrefix, one.Facts, one.Workflows); err != nil {
			return exit.Misconfigured("ops/FEED.md says what can be chosen", "%s: %s: %v", written.place(key+".facts"), key, err)
		}
	}
	return nil
}

func (r receiver) validate(written *configText, section, name string) error {
	key := section + "." + name
	if err := eventlog.ValidateConnectorName(name); err != nil {
		return exit.Misconfigured("write e.g. warehouse", "%s: %s: the name %v", written.place(key), section, err)
	}
	if r.url == "" {
		return exit.Misconfigured("write e.g. url: https://example.com/webhooks", "%s: %s has no url",
			written.place(key), key)
	}
	return nil
}

// target reads the receiver's secrets. The error names the setting that is wrong, and shows no value.
func (r receiver) target(key string, from connector.Secrets, named secret.Set, written *configText) (*outgoing.Target,
	error) {
	wrong := func(member string, err error) error {
		return exit.Misconfigured("", "%s: %s.%s: %v", written.place(key+"."+member), key, member, err)
	}
	var hidden []string
	from.Found = func(value string) { hidden = append(hidden, value) }
	address, err := from.Expand(r.url)
	if err != nil {
		return nil, wrong("url", err)
	}
	sign, err := r.secret(from, named)
	if err != nil {
		return nil, wrong("secret", err)
	}
	proxy, err := from.Expand(r.proxy)
	if err != nil {
		return nil, wrong("proxy", err)
	}
	to, err := outgoing.New(outgoing.Config{URL: address, Secret: sign, Private: r.private, Timeout: r.timeout,
		Proxy: proxy, Hidden: hidden})
	var setting *outgoing.SettingError
	switch {
	case errors.As(err, &setting):
		return nil, wrong(setting.Key, errors.New(setting.Problem))
	case err != nil:
		return nil, wrong("url", err)
	}
	return to, nil
}

// secret is the secret that signs the webhooks; the zero Secret where nothing is signed.
func (r receiver) secret(from connector.Secrets, named secret.Set) (secret.Secret, error) {
	if r.sign == "" {
		return secret.Secret{}, nil
	}
	if strings.Contains(r.sign, "${") {
		value, err := from.Expand(r.sign)
		if err != nil {
			return secret.Secret{}, err
		}
		return secret.Of([]string{value}, nil)
	}
	found, ok := named.Lookup(r.sign)
	if !ok {
		return found, errors.New("it is neither the name of one under secrets nor a reference such as ${env:NAME}")
	}
	return found, nil
}

// expand makes the targets, in the order of the names.
func (s subscriptions) expand(from connector.Secrets, named secret.Set, written *configText) ([]Subscription, error) {
	var all []Subscription
	for _, name := range slices.Sorted(maps.Keys(s)) {
		one := s[name]
		to, err := one.receiver().target("subscriptions."+name, from, named, written)
		if err != nil {
			return nil, err
		}
		all = append(all, Subscription{Name: name, Target: to, Facts: one.Facts, Workflows: one.Workflows})
	}
	return all, nil
}
