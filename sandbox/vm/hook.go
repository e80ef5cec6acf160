package vm

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

// The members of a hook that mean something. What verifies a request is not passed over where it is misspelt.
var (
	hookMembers      = []string{"topic", "verify", "id", "title", "headers", "respond"}
	schemeMembers    = []string{"scheme", "secret"}
	hmacMembers      = []string{"hmac", "secret", "secretEncoding", "signed", "signatures", "timestamp"}
	tokenMembers     = []string{"token", "header", "query"}
	signatureMembers = []string{"header", "split", "prefix", "encoding"}
	timestampMembers = []string{"header", "in", "format", "tolerance"}
	respondMembers   = []string{"status", "text", "json", "challenge"}
)

const (
	codeHook  = "shape.hook"
	hookShape = `Pawl.hook({ topic: "…", verify: { scheme: "github", secret: "NAME" }, ` +
		`id: "{header:X-GitHub-Delivery}", title: "{header:X-GitHub-Event}" })`
	verifyShape = "write " + sandbox.VerifyShape
)

func (r *reader) hooks(v goja.Value) {
	hooks, ok := r.group(v, "hooks", codeHook)
	if !ok {
		return
	}
	for _, name := range hooks.Keys() {
		path := []string{"hooks", name}
		h := sandbox.HookDefinition{Name: name}
		hook, ok := value.AsObject(hooks.Get(name))
		if _, callable := goja.AssertFunction(hooks.Get(name)); !ok || callable || value.IsArray(hook) {
			r.fail(codeHook, "write "+sandbox.Clip(name, 100)+": "+hookShape, path, "hook %q must be an object, and is %s",
				name, value.KindOf(hooks.Get(name)))
			r.definition.Hooks = append(r.definition.Hooks, h)
			continue
		}
		r.unknown(hook, path, "a hook", hookMembers...)
		h.Topic = r.required(hook, path, "topic", `name the topic of its events: topic: "…"`)
		h.Verify = r.verify(hook.Get("verify"), append(slices.Clone(path), "verify"))
		h.ID = r.option(hook, path, "id", codeHook, `write a template as text: id: "{body:id}"`)
		h.Title = r.option(hook, path, "title", codeHook, `write a template as text: title: "{body:type}"`)
		if headers := hook.Get("headers"); !value.Undefined(headers) {
			if h.Headers = value.Texts(headers); h.Headers == nil {
				r.fail(codeHook, `write headers: ["X-GitHub-Event"]`, append(slices.Clone(path), "headers"),
					"headers of hook %q must be an array of names, and is %s", name, value.KindOf(headers))
			}
		}
		h.Respond = r.respond(hook.Get("respond"), append(slices.Clone(path), "respond"))
		r.definition.Hooks = append(r.definition.Hooks, h)
	}
}

// required reads a text that must be there.
func (r *reader) required(on *goja.Object, path []string, name, fix string) string {
	if value.Undefined(on.Get(name)) {
		r.fail(codeHook, r.misspelt(on, name, hookMembers, fix), append(slices.Clone(path), name), "%s is missing",
			strings.Join(append(slices.Clone(path), name), "."))
		return ""
	}
	return r.option(on, slices.Clone(path), name, codeHook, fix)
}

// member reads an object of known members; anything else is a problem.
func (r *reader) member(v goja.Value, path []string, fix string, known []string) (*goja.Object, bool) {
	o, ok := value.AsObject(v)
	if _, callable := goja.AssertFunction(v); !ok || callable || value.IsArray(o) {
		r.fail(codeHook, fix, path, "%s must be an object, and is %s", strings.Join(path, "."), value.KindOf(v))
		return nil, false
	}
	for _, key := range o.Keys() {
		if !slices.Contains(known, key) {
			r.fail(codeHook, "remove it, or use one of "+strings.Join(known, ", "), append(slices.Clone(path), key),
				"%s has no member %q", strings.Join(path, "."), sandbox.Clip(key, 100))
			return nil, false
		}
	}
	return o, true
}

func (r *reader) verify(v goja.Value, path []string) (verify sandbox.HookVerify) {
	switch {
	case value.Undefined(v):
		r.fail(codeHook, verifyShape, path, "%s is missing: it says what shows that a request is a true one",
			strings.Join(path, "."))
		return verify
	case value.IsText(v) && v.String() == "none":
		verify.None = true
		return verify
	}
	o, ok := value.AsObject(v)
	if !ok {
		r.fail(codeHook, verifyShape, path, `%s must be an object or "none", and is %s`, strings.Join(path, "."),
			value.KindOf(v))
		return verify
	}
	kinds := []struct {
		name    string
		members []string
	}{{"scheme", schemeMembers}, {"hmac", hmacMembers}, {"token", tokenMembers}}
	at := slices.IndexFunc(kinds, func(k struct {
		name    string
		members []string
	}) bool {
		return !value.Undefined(o.Get(k.name))
	})
	if at < 0 {
		r.fail(codeHook, verifyShape, path, "%s has neither scheme, hmac nor token", strings.Join(path, "."))
		return verify
	}
	if o, ok = r.member(v, path, verifyShape, kinds[at].members); !ok {
		return verify
	}
	text := func(name string) string {
		return r.option(o, slices.Clone(path), name, codeHook, verifyShape)
	}
	verify.Scheme, verify.HMAC, verify.Token = text("scheme"), text("hmac"), text("token")
	verify.Secret, verify.SecretEncoding, verify.Signed = text("secret"), text("secretEncoding"), text("signed")
	verify.Header, verify.Query = text("header"), text("query")
	if s := o.Get("signatures"); !value.Undefined(s) {
		const fix = `write signatures: { header: "X-Signature", encoding: "hex" }`
		inner := append(slices.Clone(path), "signatures")
		if o, ok := r.member(s, inner, fix, signatureMembers); ok {
			text := func(name string) string { return r.option(o, slices.Clone(inner), name, codeHook, fix) }
			verify.Signatures = &sandbox.HookSignatures{Header: text("header"), Split: text("split"), Prefix: text("prefix"),
				Encoding: text("encoding")}
		}
	}
	if t := o.Get("timestamp"); !value.Undefined(t) {
		const fix = `write timestamp: { header: "X-Timestamp", format: "unix", tolerance: "5m" }`
		inner := append(slices.Clone(path), "timestamp")
		if o, ok := r.member(t, inner, fix, timestampMembers); ok {
			text := func(name string) string { return r.option(o, slices.Clone(inner), name, codeHook, fix) }
			verify.Timestamp = &sandbox.HookTimestamp{Header: text("header"), In: text("in"), Format: text("format"),
				Tolerance: text("tolerance")}
		}
	}
	return verify
}

func (r *reader) respond(v goja.Value, path []string) *sandbox.HookAnswer {
	const fix = `write respond: { status: 200, text: "ok" }, respond: { json: { … } } or ` +
		`respond: { challenge: "{body:challenge}" }`
	if value.Undefined(v) {
		return nil
	}
	o, ok := r.member(v, path, fix, respondMembers)
	if !ok {
		return nil
	}
	a := &sandbox.HookAnswer{}
	said := 0
	if status := o.Get("status"); !value.Undefined(status) {
		n, ok := value.Number(status)
		if ok && n == math.Trunc(n) && n >= 100 && n <= 599 {
			a.Status = int(n)
		} else {
			r.fail(codeHook, "write e.g. status: 200", append(slices.Clone(path), "status"),
				"%s must be a status of HTTP, and is %s", strings.Join(append(slices.Clone(path), "status"), "."),
				value.KindOf(status))
		}
	}
	if text := o.Get("text"); !value.Undefined(text) {
		said++
		if value.IsText(text) {
			written := text.String()
			a.Text = &written
		} else {
			r.fail(codeHook, `write text: "ok"`, append(slices.Clone(path), "text"), "%s must be a text, and is %s",
				strings.Join(append(slices.Clone(path), "text"), "."), value.KindOf(text))
		}
	}
	if answer := o.Get("json"); !value.Undefined(answer) {
		said++
		written, err := value.Encode(r.rt, answer)
		if err != nil || !json.Valid(written) {
			r.fail(codeHook, `write json: { ok: true }`, append(slices.Clone(path), "json"), "%s must be JSON, and is %s",
				strings.Join(append(slices.Clone(path), "json"), "."), value.KindOf(answer))
		}
		a.JSON = written
	}
	if !value.Undefined(o.Get("challenge")) {
		said++
		a.Challenge = r.option(o, slices.Clone(path), "challenge", codeHook, `write challenge: "{body:challenge}"`)
	}
	if said > 1 {
		r.fail(codeHook, "keep one of text, json and challenge", path, "%s has several answers", strings.Join(path, "."))
	}
	return a
}
