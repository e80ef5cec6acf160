package hook_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/eventlog"
)

// parts is a complete hook that says itself how its requests are signed.
func parts() eventlog.Hook {
	return eventlog.Hook{
		Name: "h", Topic: "t", ID: "{header:X-Id}", Title: "{body:type}", Headers: []string{"X-Kind"},
		Verify: eventlog.HookVerify{
			Scheme: "hmac", Secret: "S", Hash: "sha512", SecretEncoding: "hex",
			Signed:     "{method} {timestamp} {header:X-Id} {body}",
			Signatures: &eventlog.HookSignatures{Header: "X-Sig", Split: ",", Prefix: "a=", Encoding: "base64"},
			Timestamp:  &eventlog.HookTimestamp{In: "t=", Format: "unixMillis", ToleranceMS: 60_000},
		},
		Respond: &eventlog.HookAnswer{Status: 200, Media: "text/plain", Body: "ok"},
	}
}

// Each mistake of a declaration is found at its place, with a code and a fix; a complete one has none.
func TestCheckFindsEachMistake(t *testing.T) {
	t.Parallel()
	whole := parts()
	if found := hook.Check(&whole); len(found) > 0 {
		t.Fatalf("a complete hook: %+v", found)
	}
	for _, scheme := range hook.Schemes() {
		id, title := hook.Suggest(scheme)
		h := eventlog.Hook{Name: "h", ID: id, Title: title, Verify: eventlog.HookVerify{Scheme: scheme, Secret: "S"}}
		if found := hook.Check(&h); len(found) > 0 {
			t.Errorf("%s with what is suggested for it: %+v", scheme, found)
		}
	}
	for name, c := range map[string]struct {
		spoil  func(*eventlog.Hook)
		code   string
		member string
	}{
		"no id":               {func(h *eventlog.Hook) { h.ID = "" }, hook.CodeTemplate, "id"},
		"a constant id":       {func(h *eventlog.Hook) { h.ID = "same" }, hook.CodeTemplate, "id"},
		"an open brace":       {func(h *eventlog.Hook) { h.ID = "{hash" }, hook.CodeTemplate, "id"},
		"a closing brace":     {func(h *eventlog.Hook) { h.ID = "{hash}}" }, hook.CodeTemplate, "id"},
		"an unknown part":     {func(h *eventlog.Hook) { h.ID = "{uuid}" }, hook.CodeTemplate, "id"},
		"a whole body as id":  {func(h *eventlog.Hook) { h.ID = "{body}" }, hook.CodeTemplate, "id"},
		"no name of a header": {func(h *eventlog.Hook) { h.ID = "{header:a b}" }, hook.CodeTemplate, "id"},
		"the signature as id": {func(h *eventlog.Hook) { h.ID = "{header:x-sig}" }, hook.CodeTemplate, "id"},
		"credentials in title": {
			func(h *eventlog.Hook) { h.Title = "{header:authorization}" },
			hook.CodeTemplate, "title",
		},
		"an overlong template": {
			func(h *eventlog.Hook) { h.Title = strings.Repeat("x", 513) },
			hook.CodeTemplate, "title",
		},
		"no title": {func(h *eventlog.Hook) { h.Title = "" }, hook.CodeTemplate, "title"},
		"a bad header": {
			func(h *eventlog.Hook) { h.Headers = []string{"X Y"} },
			hook.CodeHeaders, "headers/0",
		},
		"the signature kept": {
			func(h *eventlog.Hook) { h.Headers = []string{"A", "x-SIG"} },
			hook.CodeHeaders, "headers/1",
		},
		"a cookie kept": {
			func(h *eventlog.Hook) { h.Headers = []string{"cookie"} },
			hook.CodeHeaders, "headers/0",
		},
		"too many headers": {
			func(h *eventlog.Hook) { h.Headers = slices.Repeat([]string{"A"}, 33) },
			hook.CodeHeaders, "headers",
		},
		"a status of failure": {
			func(h *eventlog.Hook) { h.Respond.Status = 302 },
			hook.CodeRespond, "respond/status",
		},
		"text without a body": {
			func(h *eventlog.Hook) { h.Respond.Status = 204 },
			hook.CodeRespond, "respond/status",
		},
		"a long answer": {
			func(h *eventlog.Hook) { h.Respond.Body = strings.Repeat("x", 1025) },
			hook.CodeRespond, "respond",
		},
		"a constant challenge": {
			func(h *eventlog.Hook) { h.Respond.Challenge = "x" },
			hook.CodeTemplate, "respond/challenge",
		},
		"a broken challenge": {
			func(h *eventlog.Hook) { h.Respond.Challenge = "{x}" },
			hook.CodeTemplate, "respond/challenge",
		},
		"an unknown scheme": {
			func(h *eventlog.Hook) { h.Verify.Scheme = "gitlab" },
			hook.CodeVerify, "verify/scheme",
		},
		"no secret":            {func(h *eventlog.Hook) { h.Verify.Secret = "" }, hook.CodeVerify, "verify"},
		"a secret for nothing": {func(h *eventlog.Hook) { h.Verify.Scheme = "none" }, hook.CodeVerify, "verify"},
		"an unknown hash":      {func(h *eventlog.Hook) { h.Verify.Hash = "md5" }, hook.CodeVerify, "verify/hmac"},
		"an unknown encoding": {
			func(h *eventlog.Hook) { h.Verify.SecretEncoding = "b64" },
			hook.CodeVerify, "verify/secretEncoding",
		},
		"no signatures": {
			func(h *eventlog.Hook) { h.Verify.Signatures = nil },
			hook.CodeVerify, "verify/signatures",
		},
		"signatures as text": {
			func(h *eventlog.Hook) { h.Verify.Signatures.Encoding = "" },
			hook.CodeVerify, "verify/signatures/encoding",
		},
		"no header to look in": {
			func(h *eventlog.Hook) { h.Verify.Signatures.Header = "" },
			hook.CodeVerify, "verify/signatures/header",
		},
		"an unsigned body": {
			func(h *eventlog.Hook) { h.Verify.Signed = "{timestamp}" },
			hook.CodeVerify, "verify/signed",
		},
		"an unsigned time": {
			func(h *eventlog.Hook) { h.Verify.Signed = "{body}" },
			hook.CodeVerify, "verify/signed",
		},
		"an unknown signed": {
			func(h *eventlog.Hook) { h.Verify.Signed = "{hash}" },
			hook.CodeVerify, "verify/signed",
		},
		"Twilio's form": {
			func(h *eventlog.Hook) { h.Verify.Signed = "{timestamp}{body}{form}" },
			hook.CodeVerify, "verify/signed",
		},
		"a time that is not": {
			func(h *eventlog.Hook) { h.Verify.Timestamp = nil },
			hook.CodeVerify, "verify/timestamp",
		},
		"a time in two places": {
			func(h *eventlog.Hook) { h.Verify.Timestamp.Header = "X-T" },
			hook.CodeVerify, "verify/timestamp",
		},
		"a time in no list": {
			func(h *eventlog.Hook) { h.Verify.Signatures.Split = "" },
			hook.CodeVerify, "verify/signatures/split",
		},
		"an unknown format": {
			func(h *eventlog.Hook) { h.Verify.Timestamp.Format = "iso" },
			hook.CodeVerify, "verify/timestamp/format",
		},
		"no tolerance": {
			func(h *eventlog.Hook) { h.Verify.Timestamp.ToleranceMS = 0 },
			hook.CodeVerify, "verify/timestamp/tolerance",
		},
		"a tolerance of a week": {
			func(h *eventlog.Hook) { h.Verify.Timestamp.ToleranceMS = 7 * 86_400_000 },
			hook.CodeVerify, "verify/timestamp/tolerance",
		},
		"a challenge that cannot be answered": {
			func(h *eventlog.Hook) { h.Respond = &eventlog.HookAnswer{Status: 204, Challenge: "{body:challenge}"} },
			hook.CodeRespond, "respond/status",
		},
		"a token nowhere": {func(h *eventlog.Hook) { h.Verify = eventlog.HookVerify{Scheme: "token", Secret: "S"} },
			hook.CodeVerify, "verify"},
		"a token in two places": {func(h *eventlog.Hook) {
			h.Verify = eventlog.HookVerify{Scheme: "token", Secret: "S", Header: "A", Query: "b"}
		}, hook.CodeVerify, "verify"},
		"a token as id": {func(h *eventlog.Hook) {
			h.Verify, h.ID = eventlog.HookVerify{Scheme: "token", Secret: "S", Query: "key"}, "{query:key}"
		}, hook.CodeTemplate, "id"},
	} {
		h := parts()
		c.spoil(&h)
		found := hook.Check(&h)
		if len(found) != 1 || found[0].Code != c.code || strings.Join(found[0].Member, "/") != c.member ||
			found[0].Fix == "" || found[0].Message == "" {
			t.Errorf("%s: %+v, want %s at %s", name, found, c.code, c.member)
		}
	}
}

// A sample is what the sender would send: it verifies, gives an id, and is refused once it is old.
func TestSamplesVerify(t *testing.T) {
	t.Parallel()
	hooks := []eventlog.Hook{
		parts(),
		{Name: "h", ID: "{query:id}", Title: "t", Verify: eventlog.HookVerify{Scheme: "token", Secret: "S", Header: "X-T"}},
		{Name: "h", ID: "{query:id}", Title: "t", Verify: eventlog.HookVerify{Scheme: "token", Secret: "S", Query: "key"}},
		{Name: "h", ID: "{hash}", Title: "t", Verify: eventlog.HookVerify{Scheme: "token", Secret: "S", Query: "key"}},
		{Name: "h", ID: "{body:a.b}", Title: "{body:a.c}", Verify: eventlog.HookVerify{Scheme: "none"}},
	}
	for _, scheme := range hook.Schemes() {
		id, title := hook.Suggest(scheme)
		hooks = append(hooks, eventlog.Hook{Name: "h", ID: id, Title: title,
			Verify: eventlog.HookVerify{Scheme: scheme, Secret: "S"}})
	}
	const value = "00ff00ff00ff00ff" // hex, base64 and text at once
	now := time.Unix(1_750_000_000, 0)
	for _, h := range hooks {
		for _, body := range [][]byte{nil, []byte(`{"id":"x","a":{"b":"1"},"event_id":"e","type":"t"}`)} {
			r, err := hook.Sample(&h, "https://pawl.example.com/hooks/w/h", body, "", "abc")
			if err != nil {
				t.Fatal(err)
			}
			if err := hook.Sign(h.Verify, value, r, now); err != nil {
				t.Fatalf("%s: %v", h.Verify.Scheme, err)
			}
			if err := hook.Verify(h.Verify, []string{value}, r, now); err != nil {
				t.Errorf("%s: %v", h.Verify.Scheme, err)
			}
			if _, err := hook.EventOf(&h, r); err != nil && body == nil {
				t.Errorf("%s: %v", h.Verify.Scheme, err)
			}
			if h.Verify.Scheme != "none" {
				if err := hook.Verify(h.Verify, []string{"11ff00ff00ff00ff"}, r, now); err == nil {
					t.Errorf("%s: another secret verifies", h.Verify.Scheme)
				}
			}
			if curl := r.Curl(); !strings.HasPrefix(curl, "curl -i 'https://pawl.example.com/hooks/w/h") {
				t.Errorf("%s", curl)
			}
		}
	}
	if err := hook.Sign(eventlog.HookVerify{Scheme: "standard", Secret: "S"}, "no base64!", &hook.Request{
		Header: http.Header{}}, now); err == nil || strings.Contains(err.Error(), "no base64!") {
		t.Errorf("a value that is no key: %v", err)
	}
}

// The command that sends a sample sends its very bytes, and has none that a terminal would obey.
func TestSamplesAsCommands(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"{\"a\":  \"it's\"}\n": `--data-raw '{"a":  "it'\''s"}` + "\n'",
		"a\x1b[31m'\\\u202e":   `--data-raw $'a\x1b[31m\'\\\xe2\x80\xae'`,
		"\xff":                 `--data-raw $'\xff'`,
	} {
		r := request(body, "text/plain", "")
		if curl := r.Curl(); !strings.HasSuffix(curl, want) {
			t.Errorf("%q: %s, want %s", body, curl, want)
		}
	}
}

// A command takes a token from the environment, whatever stands beside it.
func TestSamplesWithoutToken(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"":           `-H "X-Token: $SHOP"`,
		"Bearer ":    `-H "X-Token: Bearer $SHOP"`,
		"it's ":      `-H "X-Token: it's $SHOP"`,
		"$HOME ":     `-H 'X-Token: $HOME '"$SHOP"''`,
		"\x1b[31m` ": `-H $'X-Token: \x1b[31m` + "`" + ` '"$SHOP"''`,
	} {
		r := request("{}", "text/plain", "")
		r.Header.Set("X-Token", before+"STANDS")
		if curl := r.CurlOf("STANDS", "SHOP"); !strings.Contains(curl, want) || !strings.Contains(curl, "--data-raw '{}'") {
			t.Errorf("%q: %s, want %s", before, curl, want)
		}
	}
}

// A token is compared whole, and each value of the secret counts.
func TestTokens(t *testing.T) {
	t.Parallel()
	inHeader := eventlog.HookVerify{Scheme: "token", Secret: "S", Header: "X-Gitlab-Token"}
	inQuery := eventlog.HookVerify{Scheme: "token", Secret: "S", Query: "key"}
	secrets := []string{"new-token", "old-token", ""}
	for _, c := range []struct {
		verify     eventlog.HookVerify
		given, why string
	}{
		{inHeader, "new-token", ""}, {inHeader, "old-token", ""}, {inQuery, "old-token", ""},
		{inHeader, "old-toke", hook.CodeToken}, {inHeader, "old-token2", hook.CodeToken}, {inHeader, "", hook.CodeUnsigned},
		{inQuery, "", hook.CodeUnsigned}, {inQuery, "NEW-TOKEN", hook.CodeToken},
	} {
		r := request("{}", "application/json", "")
		if c.verify.Header != "" {
			r.Header.Set(c.verify.Header, c.given)
		} else {
			r.RawQuery = "key=" + c.given
		}
		err := hook.Verify(c.verify, secrets, r, time.Now())
		if c.why == "" && err != nil || c.why != "" && (err == nil || err.(*hook.Unverified).Code != c.why) {
			t.Errorf("%+v with %q: %v, want %q", c.verify, c.given, err, c.why)
		}
	}
}
