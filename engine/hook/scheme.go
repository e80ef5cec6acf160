package hook

import (
	"maps"
	"slices"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// The schemes that belong to no known sender.
const (
	SchemeHMAC  = "hmac"
	SchemeToken = "token"
	SchemeNone  = "none"
)

// SchemeStandard is Standard Webhooks. Pawl signs its own webhooks so, too.
const SchemeStandard = "standard"

// The senders whose documented schemes are known.
const (
	schemeGitHub  = "github"
	schemeShopify = "shopify"
	schemeSlack   = "slack"
	schemeStripe  = "stripe"
	schemeTwilio  = "twilio"
)

// DefaultTolerance is how far the time of a request may be from the engine's where nothing else is said.
const DefaultTolerance = 5 * time.Minute

// How signatures, secrets and times are written, and the hashes that are known.
const (
	hexadecimal = "hex"
	base64Text  = "base64"
	plainText   = "text"

	unix       = "unix"
	unixMillis = "unixMillis"
	rfc3339    = "rfc3339"

	sha1Hash   = "sha1"
	sha256Hash = "sha256"
	sha512Hash = "sha512"
)

// sender is a known scheme, with an id and a title for the events that its requests become.
type sender struct {
	parts     eventlog.HookVerify
	id, title string
}

// known are the schemes as their senders document them.
var known = map[string]sender{
	schemeGitHub: {
		parts: eventlog.HookVerify{Hash: sha256Hash, Signed: "{body}",
			Signatures: &eventlog.HookSignatures{Header: "X-Hub-Signature-256", Prefix: "sha256=", Encoding: hexadecimal}},
		id: "{header:X-GitHub-Delivery}", title: "{header:X-GitHub-Event} in {body:repository.full_name}",
	},
	schemeShopify: {
		parts: eventlog.HookVerify{Hash: sha256Hash, Signed: "{body}",
			Signatures: &eventlog.HookSignatures{Header: "X-Shopify-Hmac-Sha256", Encoding: base64Text}},
		id: "{header:X-Shopify-Event-Id}", title: "{header:X-Shopify-Topic}",
	},
	schemeSlack: {
		parts: eventlog.HookVerify{Hash: sha256Hash, Signed: "v0:{timestamp}:{body}",
			Signatures: &eventlog.HookSignatures{Header: "X-Slack-Signature", Prefix: "v0=", Encoding: hexadecimal},
			Timestamp:  timeIn("X-Slack-Request-Timestamp", "")},
		id: "{body:event_id}", title: "{body:event.type}",
	},
	SchemeStandard: {
		parts: eventlog.HookVerify{Hash: sha256Hash, SecretEncoding: base64Text,
			Signed: "{header:Webhook-Id}.{timestamp}.{body}",
			Signatures: &eventlog.HookSignatures{Header: "Webhook-Signature", Split: " ", Prefix: "v1,",
				Encoding: base64Text},
			Timestamp: timeIn("Webhook-Timestamp", "")},
		id: "{header:webhook-id}", title: "{body:type}",
	},
	schemeStripe: {
		parts: eventlog.HookVerify{Hash: sha256Hash, Signed: "{timestamp}.{body}",
			Signatures: &eventlog.HookSignatures{Header: "Stripe-Signature", Split: ",", Prefix: "v1=",
				Encoding: hexadecimal},
			Timestamp: timeIn("", "t=")},
		id: "{body:id}", title: "{body:type}",
	},
	// The body of a request that is no form is not signed itself: its hash is, in the query. See bodyIsSigned.
	schemeTwilio: {
		parts: eventlog.HookVerify{Hash: sha1Hash, Signed: "{url}{form}",
			Signatures: &eventlog.HookSignatures{Header: "X-Twilio-Signature", Encoding: base64Text}},
		id: "{body:MessageSid}", title: "{body:From}: {body:Body}",
	},
}

func timeIn(header, in string) *eventlog.HookTimestamp {
	return &eventlog.HookTimestamp{Header: header, In: in, Format: unix, ToleranceMS: DefaultTolerance.Milliseconds()}
}

// Schemes lists the known senders.
func Schemes() []string { return slices.Sorted(maps.Keys(known)) }

// partsOf says how a scheme signs; false for one that does not sign, or is not known.
func partsOf(v eventlog.HookVerify) (eventlog.HookVerify, bool) {
	if v.Scheme == SchemeHMAC {
		return v, v.Signatures != nil
	}
	s, ok := known[v.Scheme]
	return s.parts, ok
}

// Suggest is an id and a title that suit the requests of a scheme.
func Suggest(scheme string) (id, title string) {
	if s, ok := known[scheme]; ok {
		return s.id, s.title
	}
	return "{body:id}", "{body:type}"
}
