package hook_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/eventlog"
)

// vector is a request that its sender's documentation or official library shows, with the secret that signed it.
type vector struct {
	verify      eventlog.HookVerify
	secret      string
	url, body   string
	contentType string
	headers     map[string]string
	at          int64 // seconds since 1970, 0 where no time is signed
	method      string
}

func (v vector) request() *hook.Request {
	r := &hook.Request{Method: v.method, URL: v.url, Header: http.Header{}, Body: []byte(v.body)}
	if r.Method == "" {
		r.Method = http.MethodPost
	}
	_, r.RawQuery, _ = strings.Cut(v.url, "?")
	if v.contentType != "" {
		r.Header.Set("Content-Type", v.contentType)
	}
	for name, value := range v.headers {
		r.Header.Set(name, value)
	}
	return r
}

func (v vector) now() time.Time { return time.Unix(v.at, 0) }

const (
	form    = "application/x-www-form-urlencoded"
	twilioT = "https://mycompany.com/myapp.php?foo=1&bar=2"
)

// vectors are published examples; each says where it is from.
var vectors = map[string]vector{
	// docs.github.com, "Validating webhook deliveries", section "Testing the webhook payload validation".
	"github": {
		verify: eventlog.HookVerify{Scheme: "github"}, secret: "It's a Secret to Everybody", body: "Hello, World!",
		headers: map[string]string{
			"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
		},
	},
	// docs.slack.dev, "Verifying requests from Slack", the example of a slash command.
	"slack, a slash command": {
		verify: eventlog.HookVerify{Scheme: "slack"}, secret: "8f742231b10e8888abcd99yyyzzz85a5", at: 1531420618,
		contentType: form,
		body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&" +
			"channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&" +
			"response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&" +
			"trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
		headers: map[string]string{
			"X-Slack-Request-Timestamp": "1531420618",
			"X-Slack-Signature":         "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
		},
	},
	// The event of Slack's documentation of its Events API; accepted by verifySlackRequest of @slack/bolt 5.1.0.
	"slack, an event": {
		verify: eventlog.HookVerify{Scheme: "slack"}, secret: "8f742231b10e8888abcd99yyyzzz85a5", at: 1531420618,
		contentType: "application/json",
		body: `{"token":"XXYYZZ","team_id":"T123ABC456","api_app_id":"A123ABC456","event":{"type":"reaction_added",` +
			`"user":"U123ABC456","item":{"type":"message","channel":"C123ABC456","ts":"1464196127.000002"},` +
			`"reaction":"slightly_smiling_face","event_ts":"1465244570.336841"},"type":"event_callback",` +
			`"event_id":"Ev123ABC456","event_time":1234567890}`,
		headers: map[string]string{
			"X-Slack-Request-Timestamp": "1531420618",
			"X-Slack-Signature":         "v0=93813b5c2906dc22d4a041c44d992d8a9a44224ca74435ca5abf0cf848ff8be3",
		},
	},
	// Made by webhooks.generateTestHeaderString of stripe 23.1.0 (npm); v0 is a signature of Stripe's documentation.
	"stripe": {
		verify: eventlog.HookVerify{Scheme: "stripe"}, secret: "whsec_test_secret", at: 1686089970,
		contentType: "application/json; charset=utf-8",
		body: `{"id":"evt_1NG8Du2eZvKYlo2CUI79vXWy","object":"event","type":"charge.succeeded","data":{"object":` +
			`{"id":"ch_3NG8Du2eZvKYlo2C","amount":2000}}}`,
		headers: map[string]string{
			"Stripe-Signature": "t=1686089970,v1=d981524fd4ecac7599e875c2eb98fb7c18fb38cbead1b9ce40e8d00492696791," +
				"v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39",
		},
	},
	// Accepted by webhooks.validate of @shopify/shopify-api 13.1.0 (npm), which refuses it with another first character.
	"shopify": {
		verify: eventlog.HookVerify{Scheme: "shopify"}, secret: "hush", contentType: "application/json",
		body:    `{"id":820982911946154508,"email":"jon@example.com","total_price":"403.00"}`,
		headers: map[string]string{"X-Shopify-Hmac-Sha256": "U1ccMjH2FYDvXHngNSLFAi0QhStcm696l5sTvIkdLr8="},
	},
	// github.com/standard-webhooks/standard-webhooks, the example of the specification and of its libraries' tests.
	"standard webhooks": {
		verify: eventlog.HookVerify{Scheme: "standard"}, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", at: 1614265330,
		contentType: "application/json", body: `{"test": 2432232314}`,
		headers: map[string]string{
			"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
			"webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		},
	},
	// The same, while a secret is being replaced and a later version exists: several signatures, one of which fits.
	"standard webhooks, several signatures": {
		verify: eventlog.HookVerify{Scheme: "standard"}, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", at: 1614265330,
		contentType: "application/json", body: `{"test": 2432232314}`,
		headers: map[string]string{
			"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
			"webhook-signature": "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v2,MzJsNXA4Ymxh " +
				"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		},
	},
	// Twilio's libraries (twilio-php, tests RequestValidatorTest; the same in the others) and its documentation of
	// request validation.
	"twilio, a form": {
		verify: eventlog.HookVerify{Scheme: "twilio"}, secret: "12345", url: twilioT, contentType: form,
		body:    "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212",
		headers: map[string]string{"X-Twilio-Signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8="},
	},
	// The same tests: fields that stand several times count once for each value.
	"twilio, repeated fields": {
		verify: eventlog.HookVerify{Scheme: "twilio"}, secret: "12345", url: twilioT, contentType: form,
		body:    "Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234&Digits=1234",
		headers: map[string]string{"X-Twilio-Signature": "IK+Dwps556ElfBT0I3Rgjkr1wJU="},
	},
	// The same tests: a body that is no form has its hash in the address.
	"twilio, a body that is no form": {
		verify: eventlog.HookVerify{Scheme: "twilio"}, secret: "12345", contentType: "application/json",
		url:     twilioT + "&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620",
		body:    `{"property": "value", "boolean": true}`,
		headers: map[string]string{"X-Twilio-Signature": "a9nBmqA0ju/hNViExpshrM61xv4="},
	},
}

// Each published example is accepted; changed in any part that its sender signs, or with another secret, it is not.
func TestPublishedExamplesVerify(t *testing.T) {
	t.Parallel()
	for name, v := range vectors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := hook.Verify(v.verify, []string{"another", v.secret}, v.request(), v.now()); err != nil {
				t.Fatalf("refused: %v", err)
			}
			changed := v.request()
			changed.Body = append([]byte("x"), changed.Body...)
			refused(t, "another body", v.verify, v.secret, changed, v.now(), hook.CodeSignature)
			refused(t, "another secret", v.verify, v.secret+"x", v.request(), v.now(), hook.CodeSignature)
			refused(t, "an empty secret", v.verify, "", v.request(), v.now(), hook.CodeSignature)
			if err := hook.Verify(v.verify, nil, v.request(), v.now()); err == nil {
				t.Error("a secret without values verified a request")
			}
			for header := range v.headers {
				without := v.request()
				without.Header.Del(header)
				if err := hook.Verify(v.verify, []string{v.secret}, without, v.now()); err == nil {
					t.Errorf("accepted without %s", header)
				}
			}
			if v.at == 0 {
				return
			}
			for _, away := range []time.Duration{-6 * time.Minute, 6 * time.Minute, 24 * 365 * time.Hour} {
				refused(t, "signed "+away.String()+" ago", v.verify, v.secret, v.request(), v.now().Add(away),
					hook.CodeTimestamp)
			}
			for _, away := range []time.Duration{-4 * time.Minute, 4 * time.Minute} {
				if err := hook.Verify(v.verify, []string{v.secret}, v.request(), v.now().Add(away)); err != nil {
					t.Errorf("signed %s ago: %v", away, err)
				}
			}
		})
	}
}

// A signature does not cover another body because that has another type, or is not there.
func TestTwiliosBodiesStaySigned(t *testing.T) {
	t.Parallel()
	v := vectors["twilio, a body that is no form"]
	for what, spoil := range map[string]func(*hook.Request){
		"no body":    func(r *hook.Request) { r.Body = nil },
		"empty form": func(r *hook.Request) { r.Body = []byte("&"); r.Header.Set("Content-Type", form) },
	} {
		r := v.request()
		spoil(r)
		refused(t, what, v.verify, v.secret, r, v.now(), hook.CodeSignature)
	}
}

// A signed header or parameter stands once: of several one would be signed, and the event show another.
func TestSignedPartsStandOnce(t *testing.T) {
	t.Parallel()
	v := eventlog.HookVerify{Scheme: "hmac", Secret: "S", Hash: "sha256", Signed: "{header:X-Event}.{query:n}.{body}",
		Signatures: &eventlog.HookSignatures{Header: "X-Sig", Encoding: "hex"}}
	made := func() *hook.Request {
		r := request("{}", "application/json", "n=1", "X-Event", "push")
		if err := hook.Sign(v, "secret", r, time.Now()); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if err := hook.Verify(v, []string{"secret"}, made(), time.Now()); err != nil {
		t.Fatal(err)
	}
	r := made()
	r.Header.Add("X-Event", "delete")
	refused(t, "a second header", v, "secret", r, time.Now(), hook.CodeUnsigned)
	r = made()
	r.RawQuery += "&n=2"
	refused(t, "a second parameter", v, "secret", r, time.Now(), hook.CodeUnsigned)
}

func refused(t *testing.T, what string, v eventlog.HookVerify, secret string, r *hook.Request, now time.Time,
	code string,
) {
	t.Helper()
	err := hook.Verify(v, []string{secret}, r, now)
	var why *hook.Unverified
	if !errors.As(err, &why) || why.Code != code || why.Message == "" || why.Hint == "" {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
	if err != nil && secret != "" && strings.Contains(err.Error(), secret) {
		t.Errorf("%s: the secret is in %q", what, err)
	}
}
