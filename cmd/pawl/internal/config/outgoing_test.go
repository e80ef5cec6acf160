package config

import (
	"strings"
	"testing"
)

// What a receiver of webhooks cannot be is named with its place, and no error shows a value.
func TestWebhooksOfTheFile(t *testing.T) {
	t.Parallel()
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"KEY": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "BAD": "planted?", "PASS": "p",
			"URL": "https://example.com/planted", "HTTP": "http://planted.example.com/"}[name]
		return value, ok
	}
	const key = `, secret: "${env:KEY}"}}`
	c, err := loadText(t, "secrets: {A: {value: \"${env:KEY}\"}}\nsubscriptions:\n  b: {url: \"${env:URL}\", secret: A, "+
		"facts: [run.*], timeout: 3s, proxy: \"http://pawl:${env:PASS}@proxy.example.com:3128\"}\n"+
		"  a: {url: \"https://example.com\", secret: \"${env:KEY}\", workflows: [w]}\n"+
		"alerts: {c: {url: \"${env:URL}\", on: [discarded]}, d: {url: \"https://a.b\"}}\n")
	if err == nil {
		err = c.Expand(env)
	}
	if err != nil || len(c.Outgoing) != 2 || c.Outgoing[0].Name != "a" || c.Outgoing[0].Workflows[0] != "w" ||
		c.Outgoing[1].Facts[0] != "run.*" || c.Outgoing[1].Target.Host() != "https://example.com" {
		t.Errorf("%+v, %v", c.Outgoing, err)
	}
	if len(c.Alerting) != 2 || len(c.Alerting[0].Wanted.Conditions) != 1 || len(c.Alerting[1].Wanted.Conditions) != 3 {
		t.Errorf("alerts %+v", c.Alerting)
	}
	for _, c := range []struct{ text, want string }{
		{"subscriptions: {a: {secret: A}}", "c.yaml:1:20: subscriptions.a has no url"},
		{"subscriptions: {a: {url: \"https://a.b\"}}", "subscriptions.a has no secret"},
		{"subscriptions: {a.b: {url: \"https://a.b\"" + key, "the name"},
		{"subscriptions: {a: {url: \"https://a.b\", fact: [x]" + key, "there is no key \"fact\" here"},
		{"subscriptions: {a: {url: \"https://a.b\", facts: [run.x]" + key, "there is no fact \"run.x\""},
		{"subscriptions: {a: {url: \"https://a.b\", facts: run.failed" + key, "c.yaml:1:"},
		{"subscriptions: {a: {url: \"https://a.b\", workflows: [\"a b\"]" + key, "subscriptions.a: workflow name"},
		{"subscriptions: {a: {url: \"https://a.b\", timeout: 5" + key, "want a duration"},
		{"subscriptions: {a: {url: \"https://a.b\", timeout: 1h" + key, "subscriptions.a.timeout: is 1h0m0s"},
		{"subscriptions: {a: {url: \"http://a.b\"" + key, "must begin with https"},
		{"subscriptions: {a: {url: \"https://a.b\", proxy: \"http://u:${env:BAD}@a.b\"" + key,
			"subscriptions.a.proxy: is no proxy"},
		{"alerts: {a: {url: \"https://a.b\", proxy: \"${env:GONE}\"}}", "alerts.a.proxy: "},
		{"subscriptions: {a: {url: \"${env:HTTP}\"" + key, "c.yaml:1:26: subscriptions.a.url: must"},
		{"subscriptions: {a: {url: \"${env:GONE}\"" + key, "GONE is not set"},
		{"subscriptions: {a: {url: \"https://a.b\", secret: planted}}", "it is neither the name"},
		{"subscriptions: {a: {url: \"https://a.b\", secret: \"${env:BAD}\"}}", "subscriptions.a.secret: has a value"},
		{"alerts: {a: {on: [person]}}", "alerts.a has no url"},
		{"alerts: {a: {url: \"https://a.b\", on: [failing]}}", "alerts.a: \"failing\" is none of person, discarded"},
		{"alerts: {a: {url: \"https://a.b\", facts: [run.*]}}", "there is no key \"facts\" here"},
		{"alerts: {a: {url: \"https://a.b\", workflows: [\"a b\"]}}", "alerts.a: workflow name"},
		{"alerts: {a: {url: \"http://a.b\"}}", "alerts.a.url: must begin with https"},
		{"alerts: {a: {url: \"https://a.b\"}}\nsubscriptions: {a: {url: \"https://a.b\"" + key, "are called a"},
		{"subscriptions: {a: {url: \"https://planted@a.b\"" + key, "must not hold a user"},
	} {
		f, err := loadText(t, c.text)
		if err == nil {
			err = f.Expand(env)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "planted") &&
			!strings.Contains(c.text, "planted") {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}
