package deploy_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// withHooks is a script with these hooks.
func withHooks(hooks string) string {
	return `export default Pawl.workflow({
  name: "inbox",
  topics: { "in.posted": {}, other: {} },
  hooks: {
` + hooks + `
  },
  consumers: { take: { subscribe: ["in.posted", "other"],
    async prepare() { return { reservations: [], data: null }; } } },
});`
}

// checkHooks describes and checks a script beside a configured secret that is granted.
func checkHooks(t *testing.T, code string, previous *deploy.Previous) (deploy.Accepted, []sandbox.Problem) {
	t.Helper()
	scripts := vm.NewExecutor(vm.Config{})
	t.Cleanup(func() { _ = scripts.Close() })
	definition, found, err := scripts.Describe(t.Context(), sandbox.Source{Filename: "inbox.ts", Code: code})
	if err != nil {
		t.Fatal(err)
	}
	return checked(deploy.Input{Definition: definition, Found: found, Catalog: catalog(t),
		Secrets: []string{"GITHUB", "STRIPE"}, Grants: map[string]eventlog.Grant{"secret.GITHUB": eventlog.GrantAllow},
		Previous: previous, Repair: previous != nil})
}

// Every form of a hook is taken over as it is written.
func TestHooksAreTakenOver(t *testing.T) {
	t.Parallel()
	accepted, found := checkHooks(t, withHooks(`
    github: Pawl.hook({ topic: "in.posted", verify: { scheme: "github", secret: "GITHUB" },
      id: "{header:X-GitHub-Delivery}", title: "{header:X-GitHub-Event}", headers: ["X-GitHub-Event"] }),
    "by-parts": { topic: "other", id: "{body:id}", title: "t", respond: { json: { ok: [1, "x"] } },
      verify: { hmac: "sha1", secret: "GITHUB", secretEncoding: "base64", signed: "{timestamp}.{body}",
        signatures: { header: "X-S", split: ",", prefix: "v1=", encoding: "hex" },
        timestamp: { in: "t=", format: "unix", tolerance: "90s" } } },
    token: { topic: "other", id: "{hash}", title: "t", verify: { token: "GITHUB", query: "key" },
      respond: { status: 201, text: "" } },
    open: { topic: "other", id: "{hash}", title: "t", verify: "none", respond: { challenge: "{query:c}" } },`), nil)
	if len(found) > 0 {
		t.Fatalf("%+v", found)
	}
	want := []eventlog.Hook{
		{Name: "github", Topic: "in.posted", ID: "{header:X-GitHub-Delivery}", Title: "{header:X-GitHub-Event}",
			Headers: []string{"X-GitHub-Event"}, Verify: eventlog.HookVerify{Scheme: "github", Secret: "GITHUB"}},
		{Name: "by-parts", Topic: "other", ID: "{body:id}", Title: "t",
			Respond: &eventlog.HookAnswer{Media: "application/json", Body: `{"ok":[1,"x"]}`},
			Verify: eventlog.HookVerify{Scheme: "hmac", Secret: "GITHUB", Hash: "sha1", SecretEncoding: "base64",
				Signed:     "{timestamp}.{body}",
				Signatures: &eventlog.HookSignatures{Header: "X-S", Split: ",", Prefix: "v1=", Encoding: "hex"},
				Timestamp:  &eventlog.HookTimestamp{In: "t=", Format: "unix", ToleranceMS: 90_000}}},
		{Name: "token", Topic: "other", ID: "{hash}", Title: "t",
			Verify:  eventlog.HookVerify{Scheme: "token", Secret: "GITHUB", Query: "key"},
			Respond: &eventlog.HookAnswer{Status: 201, Media: "text/plain; charset=utf-8"}},
		{Name: "open", Topic: "other", ID: "{hash}", Title: "t", Verify: eventlog.HookVerify{Scheme: "none"},
			Respond: &eventlog.HookAnswer{Challenge: "{query:c}"}},
	}
	if !reflect.DeepEqual(accepted.Definition.Hooks, want) {
		t.Errorf("got\n%+v\nwant\n%+v", accepted.Definition.Hooks, want)
	}
}

// Each mistake has a code, its line and a fix.
func TestMistakesInHooks(t *testing.T) {
	t.Parallel()
	const (
		good = `topic: "in.posted", id: "{body:id}", title: "t"`
		inX  = `signatures: { header: "X", encoding: "hex" }`
	)
	for name, c := range map[string]struct{ hook, code, fix string }{
		"no object": {`h: 5,`, "shape.hook", "Pawl.hook({"},
		"no topic":  {`h: { id: "{hash}", title: "t", verify: "none" },`, "shape.hook", "topic"},
		"an unknown topic": {
			`h: { topic: "in.psted", id: "{hash}", title: "t", verify: "none" },`,
			"topic.unknown", `write "in.posted"`,
		},
		"no verify":      {`h: { ` + good + ` },`, "shape.hook", `verify: "none"`},
		"verify as text": {`h: { ` + good + `, verify: "github" },`, "shape.hook", "scheme"},
		"a misspelt member": {
			`h: { ` + good + `, verify: { scheme: "github", secrets: "GITHUB" } },`,
			"shape.hook", "secret",
		},
		"misspelt tolerance": {
			`h: { ` + good + `, verify: { hmac: "sha256", secret: "GITHUB", signed: "{body}", ` + inX +
				`, timestamp: { header: "T", format: "unix", tolerence: "1m" } } },`,
			"shape.hook", "tolerance",
		},
		"an unknown scheme": {
			`h: { ` + good + `, verify: { scheme: "gitlab", secret: "GITHUB" } },`,
			"hook.verify", "github, shopify",
		},
		"hmac as a scheme": {
			`h: { ` + good + `, verify: { scheme: "hmac", secret: "GITHUB" } },`,
			"hook.verify", "or say how it is signed",
		},
		"an unsigned body": {
			`h: { ` + good + `, verify: { hmac: "sha256", secret: "GITHUB", signed: "{header:X-Id}", ` + inX +
				` } },`,
			"hook.verify", "{body}",
		},
		"no duration": {
			`h: { ` + good + `, verify: { hmac: "sha256", secret: "GITHUB", signed: "{timestamp}{body}", ` + inX +
				`, timestamp: { header: "T", format: "unix", tolerance: "soon" } } },`,
			"hook.verify", "5m",
		},
		"an unknown secret": {
			`h: { ` + good + `, verify: { scheme: "github", secret: "GITHUP" } },`,
			"secret.unknown", "did you mean GITHUB",
		},
		"not granted": {
			`h: { ` + good + `, verify: { scheme: "stripe", secret: "STRIPE" } },`,
			"secret.notGranted", "grants.secret [inbox secret.STRIPE]",
		},
		"no secret": {
			`h: { ` + good + `, verify: { scheme: "github" } },`,
			"hook.verify", "secrets",
		},
		"a name with a space": {`"a b": { ` + good + `, verify: "none" },`, "name.hook", `"a-b"`},
		"no id": {
			`h: { topic: "other", title: "t", verify: "none" },`,
			"hook.template", "{body:id}",
		},
		"an id as a number": {
			`h: { topic: "other", id: 5, title: "t", verify: "none" },`,
			"shape.hook", "template",
		},
		"an unknown part": {
			`h: { topic: "other", id: "{now}", title: "t", verify: "none" },`,
			"hook.template", "{hash}",
		},
		"a header that is kept": {
			`h: { ` + good + `, verify: "none", headers: ["Cookie"] },`,
			"hook.headers", "remove it",
		},
		"headers as text": {
			`h: { ` + good + `, verify: "none", headers: "X" },`,
			"shape.hook", "headers: [",
		},
		"two answers": {
			`h: { ` + good + `, verify: "none", respond: { text: "a", json: 1 } },`,
			"shape.hook", "keep one",
		},
		"a status as text": {
			`h: { ` + good + `, verify: "none", respond: { status: "200" } },`,
			"shape.hook", "status: 200",
		},
		"a redirect": {
			`h: { ` + good + `, verify: "none", respond: { status: 302 } },`,
			"hook.respond", "200 to 299",
		},
		"a function as answer": {
			`h: { ` + good + `, verify: "none", respond: { json: () => 1 } },`,
			"shape.hook", "json:",
		},
	} {
		_, found := checkHooks(t, withHooks(c.hook), nil)
		i := slices.IndexFunc(found, func(p sandbox.Problem) bool { return p.Code == c.code })
		if i < 0 || !strings.Contains(found[i].Fix, c.fix) || found[i].Line != 5 {
			t.Errorf("%s: %+v, want %s in line 5 with %q", name, found, c.code, c.fix)
		}
		if len(found) > 1 {
			t.Errorf("%s: more than one problem: %+v", name, found)
		}
	}
}

// A repair changes neither what requests a hook lets in, nor its address (F9).
func TestF09_RepairKeepsHooks(t *testing.T) {
	t.Parallel()
	const hook = `h: { topic: "in.posted", id: "{body:id}", title: "t", verify: { scheme: "github", secret: "GITHUB" } },`
	accepted, _ := checkHooks(t, withHooks(hook), nil)
	previous := &deploy.Previous{Name: "inbox", Version: "1.0", Definition: accepted.Definition}
	for name, c := range map[string]struct {
		hooks   string
		refused bool
	}{
		"another title":   {strings.Replace(hook, `"t"`, `"{body:x}"`, 1), false},
		"another id":      {strings.Replace(hook, `{body:id}`, `{hash}`, 1), true},
		"another answer":  {strings.Replace(hook, `title: "t"`, `title: "t", respond: { status: 202 }`, 1), false},
		"a challenge":     {strings.Replace(hook, `title: "t"`, `title: "t", respond: { challenge: "{query:c}" }`, 1), true},
		"no verification": {strings.Replace(hook, `{ scheme: "github", secret: "GITHUB" }`, `"none"`, 1), true},
		"another topic":   {strings.Replace(hook, `"in.posted"`, `"other"`, 1), true},
		"one more":        {hook + strings.Replace(hook, "h:", "more:", 1), true},
		"one less":        {"", true},
	} {
		_, found := checkHooks(t, withHooks(c.hooks), previous)
		if got := slices.ContainsFunc(found, func(p sandbox.Problem) bool { return p.Code == deploy.CodeRepair }); got !=
			c.refused {
			t.Errorf("%s: %+v, refused %t", name, found, c.refused)
		}
	}
}
