package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/secret"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/alert"
	"github.com/pawl-run/pawl/ops/outgoing"
)

// alerts are the receivers of alerts, by name.
type alerts map[string]alertSettings

type alertSettings struct {
	URL       string        `yaml:"url"`
	Secret    string        `yaml:"secret"`
	Private   bool          `yaml:"private"`
	Timeout   time.Duration `yaml:"timeout"`
	Proxy     string        `yaml:"proxy"`
	On        []string      `yaml:"on"`
	Workflows []string      `yaml:"workflows"`
}

func (s alertSettings) receiver() receiver {
	return receiver{s.URL, s.Secret, s.Private, s.Timeout, s.Proxy}
}

// wanted says which alerts the receiver gets.
func (s alertSettings) wanted() (alert.Wanted, error) {
	w := alert.Wanted{Workflows: s.Workflows}
	for _, name := range s.Workflows {
		if err := eventlog.WorkflowName(name).Validate(); err != nil {
			return w, err
		}
	}
	if len(s.On) == 0 {
		w.Conditions = alert.Conditions()
	}
	for _, on := range s.On {
		if !slices.Contains(alert.Conditions(), alert.Condition(on)) {
			var known []string
			for _, c := range alert.Conditions() {
				known = append(known, string(c))
			}
			return w, fmt.Errorf("%q is none of %s", on, strings.Join(known, ", "))
		}
		w.Conditions = append(w.Conditions, alert.Condition(on))
	}
	return w, nil
}

// Alert is a configured receiver of alerts.
type Alert struct {
	Name   string
	Target *outgoing.Target
	Wanted alert.Wanted
}

// validate refuses mistakes that can be seen without the secrets. A subscription may not have the same name.
func (s alerts) validate(written *configText, beside subscriptions) error {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		key := "alerts." + name
		if err := s[name].receiver().validate(written, "alerts", name); err != nil {
			return err
		}
		if _, taken := beside[name]; taken {
			return exit.Misconfigured("give one of them another name", "%s: a subscription and an alert are called %s",
				written.place(key), name)
		}
		if _, err := s[name].wanted(); err != nil {
			return exit.Misconfigured("write e.g. on: [person, discarded]", "%s: %s: %v", written.place(key+".on"), key, err)
		}
	}
	return nil
}

// expand makes the targets, in the order of the names.
func (s alerts) expand(from connector.Secrets, named secret.Set, written *configText) ([]Alert, error) {
	var all []Alert
	for _, name := range slices.Sorted(maps.Keys(s)) {
		to, err := s[name].receiver().target("alerts."+name, from, named, written)
		if err != nil {
			return nil, err
		}
		wanted, err := s[name].wanted()
		if err != nil {
			return nil, exit.Misconfigured("", "%s: alerts.%s: %v", written.place("alerts."+name), name, err)
		}
		all = append(all, Alert{Name: name, Target: to, Wanted: wanted})
	}
	return all, nil
}
