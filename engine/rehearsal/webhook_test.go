package rehearsal_test

import (
	"strings"
	"testing"
)

// hooked has hooks of several schemes.
const hooked = `export default Pawl.workflow({ name: "hooked", topics: { pushed: {} }, hooks: {
  github: Pawl.hook({ topic: "pushed", verify: { scheme: "github", secret: "GITHUB" },
    id: "{header:X-GitHub-Delivery}", title: "{header:X-GitHub-Event} in {body:repo.name}", headers: ["X-GitHub-Event"] }),
  slack: Pawl.hook({ topic: "pushed", verify: { scheme: "slack", secret: "SLACK" }, id: "{body:event_id}", title: "Slack" }),
  standard: Pawl.hook({ topic: "pushed", verify: { scheme: "standard", secret: "STANDARD" }, id: "{hash}", title: "S" }),
  token: Pawl.hook({ topic: "pushed", verify: { token: "TOKEN", query: "key" }, id: "{hash}", title: "T" }),
  open: Pawl.hook({ topic: "pushed", verify: "none", id: "{body:id}", title: "O" }),
}, consumers: { note: {
  subscribe: ["pushed"],
  async prepare(ctx) {
    const [e] = await ctx.peek("pushed", { limit: 1 });
    if (!e) return { reservations: [], data: null };
    ctx.log(e.title);
    return { reservations: [{ topic: "pushed", ids: [e.id] }], data: null };
  },
} } });
`

// A request to a hook becomes the event that it becomes in an engine, or is refused as it is there.
func TestHooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ steps, want string }{
		"the id and the title are those of the templates": {`
			t.hook("github", { headers: { "x-github-delivery": "d-1", "X-GitHub-Event": "push" }, body: { repo: { name: "shop" } } });
			t.hook("github", { headers: { "x-github-delivery": "d-1", "X-GitHub-Event": "push" }, body: { repo: { name: "shop" } } });
			t.expectLog("push in shop");
			t.expectEvents("pushed", [{ messageId: "d-1", title: "push in shop", status: "consumed", payload: {
				method: "POST", query: {}, headers: { "X-GitHub-Event": "push" }, contentType: "application/json",
				body: { repo: { name: "shop" } } } }]);`, ""},
		"the schemes verify": {`
			t.hook("slack", { body: { event_id: "e-1" } });
			t.hook("slack", { body: { type: "url_verification", challenge: "c-1" }, answers: "c-1" });
			t.hook("standard", { headers: { "webhook-id": "s-1" }, body: { a: 1 } });
			t.hook("token", { query: { a: "b" }, body: "text" });
			t.hook("open", { contentType: "application/x-www-form-urlencoded", body: { id: "f 1" } });
			t.expectEvents("pushed", [{ messageId: "e-1" }, { payload: { body: { a: 1 } } },
				{ payload: { query: { a: "b" }, body: "text" } }, { messageId: "f 1", payload: { body: { id: "f 1" } } }]);`, ""},
		"refusals that are expected": {`
			t.hook("github", { unsigned: true, refused: "hook.unsigned" });
			t.hook("github", { unsigned: true, headers: { "X-Hub-Signature-256": "sha256=00" }, refused: "hook.signature" });
			t.hook("github", { refused: "hook.id" });
			t.hook("open", { contentType: "application/json", body: "{", refused: "json.invalid" });
			t.hook("token", { method: "OPTIONS", refused: "method.notAllowed" });
			t.expectEvents("pushed", []);`, ""},
		"no grant": {`
			t.grants({ "secret.GITHUB": "deny" });
			t.hook("github", { headers: { "X-GitHub-Delivery": "1" }, refused: "hook.unready" });`, ""},
		"a refusal":    {`t.hook("github", {});`, "the hook refuses the request with hook.id: the request has no "},
		"another code": {`t.hook("github", { refused: "hook.token" });`, "with hook.id and not with hook.token"},
		"no refusal": {`t.hook("open", { body: { id: "1" }, refused: "hook.id" });`,
			"was to refuse the request with hook.id"},
		"a challenge": {`t.hook("slack", { body: { type: "url_verification", challenge: "c" } });`,
			`answers: "c" expects that`},
		"no challenge": {`t.hook("open", { body: { id: "1" }, answers: "c" });`, `was to answer "c"`},
		"no hook":      {`t.hook("gitlab");`, `the script has no hook "gitlab"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said, _ := run(t, hooked, ofCase(c.steps))
			if c.want == "" && said != "" || !strings.Contains(said, c.want) {
				t.Errorf("said: %s", said)
			}
		})
	}
}
