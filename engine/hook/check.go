package hook

import (
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// The codes of what a declaration has wrong.
const (
	CodeVerify   = "hook.verify"
	CodeTemplate = "hook.template"
	CodeHeaders  = "hook.headers"
	CodeRespond  = "hook.respond"
)

// Fault is one thing that a declaration has wrong.
type Fault struct {
	// Member is its path in the hook: verify, signatures, header.
	Member             []string
	Code, Message, Fix string
}

// faults collects them.
type faults []Fault

func (f *faults) add(code, fix, message string, member ...string) {
	*f = append(*f, Fault{Member: member, Code: code, Message: message, Fix: fix})
}

// maxHeaders bounds how many headers a payload may have.
const maxHeaders = 32

// Check finds what is wrong with a hook; nothing for a complete one. Its name and topic are not looked at.
func Check(h *eventlog.Hook) []Fault {
	var f faults
	f.verify(&h.Verify)
	hidden := hiddenIn(h.Verify)
	f.event("id", h.ID, h.Verify, hidden)
	f.event("title", h.Title, h.Verify, hidden)
	f.headers(h.Headers, hidden)
	f.respond(h, hidden)
	return f
}

func (f *faults) event(member, text string, v eventlog.HookVerify, hidden secretNames) {
	id, title := Suggest(v.Scheme)
	suggested := map[string]string{"id": id, "title": title}[member]
	fix := fmt.Sprintf("write e.g. %s: %q; placeholders are %s", member, suggested, eventPlaceholders)
	if text == "" {
		f.add(CodeTemplate, fix, member+" is missing: a template over the request, which names the event", member)
		return
	}
	template, err := parseEvent(text)
	switch {
	case err != nil:
		f.add(CodeTemplate, fix, fmt.Sprintf("%s cannot be read: %v", member, err), member)
	case member == "id" && template.constant():
		f.add(CodeTemplate, fix, "id is the same for every request, so all of them would be one event", member)
	default:
		f.hides(template, member, hidden, member)
	}
}

// secretNames are the names of what verifies a request.
type secretNames struct {
	headers []string
	query   string
}

// hiddenIn is what of a request must not be stored.
func hiddenIn(v eventlog.HookVerify) secretNames {
	s := secretNames{headers: []string{"Authorization", "Proxy-Authorization", "Cookie"}, query: v.Query}
	if v.Header != "" {
		s.headers = append(s.headers, textproto.CanonicalMIMEHeaderKey(v.Header))
	}
	if parts, ok := partsOf(v); ok && parts.Signatures.Header != "" {
		s.headers = append(s.headers, textproto.CanonicalMIMEHeaderKey(parts.Signatures.Header))
	}
	return s
}

func (f *faults) hides(t Template, member string, hidden secretNames, path ...string) {
	for _, name := range hidden.headers {
		if t.uses(fromHeader, name) {
			f.add(CodeTemplate, "remove it: what verifies a request is never stored",
				fmt.Sprintf("%s names the header %s, which verifies the request", member, name), path...)
		}
	}
	if hidden.query != "" && t.uses(fromQuery, hidden.query) {
		f.add(CodeTemplate, "remove it: what verifies a request is never stored",
			fmt.Sprintf("%s names the query parameter %s, which verifies the request", member, hidden.query), path...)
	}
}

func (f *faults) headers(names []string, hidden secretNames) {
	if len(names) > maxHeaders {
		f.add(CodeHeaders, "list those that the workflow uses", fmt.Sprintf("%d headers are listed, at most %d are allowed",
			len(names), maxHeaders), "headers")
	}
	for i, name := range names {
		at := []string{"headers", fmt.Sprint(i)}
		switch {
		case !isToken(name):
			f.add(CodeHeaders, `write e.g. headers: ["X-GitHub-Event"]`, fmt.Sprintf("%q is not a header name",
				eventlog.ClipName(name)), at...)
		case slices.Contains(hidden.headers, textproto.CanonicalMIMEHeaderKey(name)):
			f.add(CodeHeaders, "remove it: what verifies a request is never stored",
				fmt.Sprintf("the header %s verifies the request, or may hold a secret of the sender", name), at...)
		}
	}
}

// A hook answers with a status of success only: with any other, the sender would send again what is recorded.
const leastStatus, maxStatus = 200, 299

func (f *faults) respond(h *eventlog.Hook, hidden secretNames) {
	a := h.Respond
	if a == nil {
		return
	}
	if a.Status != 0 && (a.Status < leastStatus || a.Status > maxStatus) {
		f.add(CodeRespond, "write a status from 200 to 299, or leave it out",
			fmt.Sprintf("status %d is no success, so the sender would send the event again", a.Status),
			"respond", "status")
	}
	if (a.Status == 204 || a.Status == 205) && (a.Body != "" || a.Challenge != "") {
		f.add(CodeRespond, "write another status, or leave the text out", fmt.Sprintf("an answer with status %d has no text",
			a.Status), "respond", "status")
	}
	if len(a.Body) > maxAnswer {
		f.add(CodeRespond, "answer less", fmt.Sprintf("the answer has %d bytes, at most %d are allowed", len(a.Body),
			maxAnswer), "respond")
	}
	if a.Challenge == "" {
		return
	}
	template, err := parseEvent(a.Challenge)
	switch {
	case err != nil:
		f.add(CodeTemplate, `write e.g. challenge: "{body:challenge}"`, fmt.Sprintf("challenge cannot be read: %v", err),
			"respond", "challenge")
	case template.constant():
		f.add(CodeTemplate, `write e.g. challenge: "{body:challenge}"`,
			"challenge is the same for every request, so no request would become an event", "respond", "challenge")
	default:
		f.hides(template, "challenge", hidden, "respond", "challenge")
	}
}

func (f *faults) verify(v *eventlog.HookVerify) {
	at := func(member ...string) []string { return append([]string{"verify"}, member...) }
	if v.Scheme == SchemeNone {
		if v.Secret != "" {
			f.add(CodeVerify, `write verify: "none", or a scheme that uses the secret`,
				"a secret is named, but nothing is verified with it", at()...)
		}
		return
	}
	if eventlog.ValidateConnectorName(v.Secret) != nil {
		f.add(CodeVerify, `name one of the secrets in the engine's configuration, in letters, digits and _: `+
			sandbox.VerifyShape,
			fmt.Sprintf("%q is not the name of a secret", eventlog.ClipName(v.Secret)), at()...)
	}
	switch _, sender := known[v.Scheme]; {
	case sender:
	case v.Scheme == SchemeToken:
		if (v.Header == "") == (v.Query == "") {
			f.add(CodeVerify, `write header: "X-Token" or query: "token"`,
				"a token stands in one header or in one query parameter", at()...)
		}
		if v.Header != "" && !isToken(v.Header) {
			f.add(CodeVerify, `write e.g. header: "X-Token"`, fmt.Sprintf("%q is not a header name",
				eventlog.ClipName(v.Header)), at("header")...)
		}
	case v.Scheme == SchemeHMAC && (v.Hash != "" || v.Signatures != nil):
		f.hmac(v, at)
	default:
		f.add(CodeVerify, "write one of "+strings.Join(Schemes(), ", ")+", or say how it is signed: "+sandbox.VerifyShape,
			fmt.Sprintf("there is no scheme %q", eventlog.ClipName(v.Scheme)), at("scheme")...)
	}
}

func (f *faults) hmac(v *eventlog.HookVerify, at func(...string) []string) {
	if _, ok := hashes[v.Hash]; !ok {
		f.add(CodeVerify, "write one of "+strings.Join(slices.Sorted(maps.Keys(hashes)), ", "),
			fmt.Sprintf("hmac %q is not known", eventlog.ClipName(v.Hash)), at("hmac")...)
	}
	if v.SecretEncoding != "" && v.SecretEncoding != plainText && v.SecretEncoding != hexadecimal &&
		v.SecretEncoding != base64Text {
		f.add(CodeVerify, `write "text", "hex" or "base64"`, fmt.Sprintf("secretEncoding %q is not known",
			eventlog.ClipName(v.SecretEncoding)), at("secretEncoding")...)
	}
	if s := v.Signatures; s == nil {
		f.add(CodeVerify, `write signatures: { header: "X-Signature", encoding: "hex" }`,
			"signatures is missing: it says where the signatures stand", at("signatures")...)
	} else {
		if !isToken(s.Header) {
			f.add(CodeVerify, `write e.g. header: "X-Signature"`, fmt.Sprintf("%q is not a header name",
				eventlog.ClipName(s.Header)), at("signatures", "header")...)
		}
		if s.Encoding != hexadecimal && s.Encoding != base64Text {
			f.add(CodeVerify, `write encoding: "hex" or encoding: "base64"`, fmt.Sprintf("encoding %q is not known",
				eventlog.ClipName(s.Encoding)), at("signatures", "encoding")...)
		}
	}
	signed, err := parseSigned(v.Signed)
	switch {
	case err != nil:
		f.add(CodeVerify, `write e.g. signed: "{timestamp}.{body}"; placeholders are `+signedPlaceholders,
			fmt.Sprintf("signed cannot be read: %v", err), at("signed")...)
		return
	case !signed.uses(fromBody, "") || signed.uses(fromForm, ""):
		f.add(CodeVerify, `write e.g. signed: "{timestamp}.{body}"; placeholders are `+signedPlaceholders,
			"signed has no {body}, so an attacker could change what is sent", at("signed")...)
	}
	f.timestamp(v, signed, at)
}

// The bounds of a tolerance.
const leastTolerance, maxTolerance = time.Second, 24 * time.Hour

func (f *faults) timestamp(v *eventlog.HookVerify, signed Template, at func(...string) []string) {
	t := v.Timestamp
	if t == nil {
		if signed.uses(fromTimestamp, "") {
			f.add(CodeVerify, `write timestamp: { header: "X-Timestamp", format: "unix" }`,
				"signed has a {timestamp}, but timestamp is missing: it says where the time stands", at("timestamp")...)
		}
		return
	}
	if (t.Header == "") == (t.In == "") {
		f.add(CodeVerify, `write header: "X-Timestamp", or in: "t=" where it stands among the signatures`,
			"a time stands in a header of its own or among the signatures", at("timestamp")...)
	}
	if t.In != "" && v.Signatures != nil && v.Signatures.Split == "" {
		f.add(CodeVerify, `write e.g. split: ","`, "split is missing: it separates the time from the signatures",
			at("signatures", "split")...)
	}
	if t.Header != "" && !isToken(t.Header) {
		f.add(CodeVerify, `write e.g. header: "X-Timestamp"`, fmt.Sprintf("%q is not a header name",
			eventlog.ClipName(t.Header)), at("timestamp", "header")...)
	}
	if t.Format != unix && t.Format != unixMillis && t.Format != rfc3339 {
		f.add(CodeVerify, `write format: "unix", "unixMillis" or "rfc3339"`, fmt.Sprintf("format %q is not known",
			eventlog.ClipName(t.Format)), at("timestamp", "format")...)
	}
	if d := t.Tolerance(); d < leastTolerance || d > maxTolerance {
		f.add(CodeVerify, `write e.g. tolerance: "5m"`, fmt.Sprintf("the tolerance must be from %s to %s", leastTolerance,
			maxTolerance), at("timestamp", "tolerance")...)
	}
	if !signed.uses(fromTimestamp, "") && (t.Header == "" || !signed.uses(fromHeader,
		textproto.CanonicalMIMEHeaderKey(t.Header))) {
		f.add(CodeVerify, `write e.g. signed: "{timestamp}.{body}"`,
			"the time is not part of what is signed, so an attacker could change it", at("signed")...)
	}
}
