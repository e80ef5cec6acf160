package hook

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// The codes of requests that are not verified.
const (
	CodeUnsigned  = "hook.unsigned"  // it carries no signature or token
	CodeSignature = "hook.signature" // no signature of it fits
	CodeTimestamp = "hook.timestamp" // its time is missing, unreadable or too far from the engine's
	CodeToken     = "hook.token"     // its token is another one
)

// Unverified says why a request was not made, or not made now, by a holder of the secret. No part of a secret is in it.
type Unverified struct{ Code, Message, Hint string }

// Error is what is wrong with the request.
func (e *Unverified) Error() string { return e.Message }

// maxSignatures bounds how many signatures of one request are compared.
const maxSignatures = 32

// Verify accepts a request that any of the secret's values was used for, by the engine's time. The error is an
// *[Unverified].
func Verify(v eventlog.HookVerify, secrets []string, r *Request, now time.Time) error {
	switch v.Scheme {
	case SchemeNone:
		return nil
	case SchemeToken:
		return verifyToken(v, secrets, r)
	}
	parts, ok := partsOf(v)
	if !ok {
		return &Unverified{CodeSignature, "the scheme of this hook is not known to this engine", "deploy it again"}
	}
	signatures := signaturesOf(parts.Signatures, r)
	if len(signatures) == 0 {
		return &Unverified{CodeUnsigned, fmt.Sprintf("the request has no signature in its header %s",
			parts.Signatures.Header), "sign it with the secret of this hook"}
	}
	stamp, at, err := stampOf(parts, r)
	if err != nil {
		return err
	}
	matches := 0
	for _, address := range addresses(v.Scheme, r) {
		signed, err := signedContent(parts, r, address, stamp)
		if err != nil {
			return err
		}
		for _, secret := range secrets {
			key, ok := keyOf(parts, secret)
			if !ok {
				continue
			}
			mac := sign(parts.Hash, key, signed)
			for _, signature := range signatures {
				matches += subtle.ConstantTimeCompare(mac, signature)
			}
		}
	}
	if matches == 0 || v.Scheme == schemeTwilio && !bodyIsSigned(r) {
		return &Unverified{CodeSignature, "no signature of the request matches what was sent", "sign the very bytes that " +
			"are sent, with the secret of this hook"}
	}
	if t := parts.Timestamp; t != nil {
		if away := now.Sub(at).Abs(); away > t.Tolerance() {
			return &Unverified{CodeTimestamp, fmt.Sprintf("the time of the request differs from that of this "+
				"engine by %s; at most %s is allowed", away.Round(time.Second), t.Tolerance()),
				"an old request is not accepted; if this one is new, correct the clock that is wrong"}
		}
	}
	return nil
}

func verifyToken(v eventlog.HookVerify, secrets []string, r *Request) error {
	given, place := r.Header.Get(v.Header), "header "+v.Header
	if v.Query != "" {
		given, place = only(queryValues(r, v.Query)), "query parameter "+v.Query
	}
	if given == "" {
		return &Unverified{CodeUnsigned, "the request has no token in its " + place, "send the token of this hook"}
	}
	// Both are hashed first, so that the time of the comparison tells nothing of the token or its length.
	got, matches := sha256.Sum256([]byte(given)), 0
	for _, secret := range secrets {
		if want := sha256.Sum256([]byte(secret)); secret != "" {
			matches += subtle.ConstantTimeCompare(got[:], want[:])
		}
	}
	if matches == 0 {
		return &Unverified{CodeToken, "the token of the request is not that of this hook", "send the token of this hook"}
	}
	return nil
}

func queryValues(r *Request, name string) []string {
	c, err := (&Request{RawQuery: r.RawQuery}).read()
	if err != nil {
		return nil
	}
	return c.query[name]
}

// only is the one value there is. Of several one would be signed, and the event could show another.
func only(values []string) string {
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

// signaturesOf are the request's signatures that can be read, as bytes.
func signaturesOf(s *eventlog.HookSignatures, r *Request) (found [][]byte) {
	for _, text := range signatureTexts(s, r) {
		encoded, ok := strings.CutPrefix(text, s.Prefix)
		if !ok || encoded == "" || len(found) == maxSignatures {
			continue
		}
		decode := hex.DecodeString
		if s.Encoding == base64Text {
			decode = base64.StdEncoding.DecodeString
		}
		if signature, err := decode(encoded); err == nil {
			found = append(found, signature)
		}
	}
	return found
}

func signatureTexts(s *eventlog.HookSignatures, r *Request) (texts []string) {
	for _, value := range r.Header.Values(s.Header) {
		if s.Split == "" {
			texts = append(texts, strings.TrimSpace(value))
			continue
		}
		for text := range strings.SplitSeq(value, s.Split) {
			texts = append(texts, strings.TrimSpace(text))
		}
	}
	return texts
}

// stampOf is the request's time, as it is written and as it is read.
func stampOf(parts eventlog.HookVerify, r *Request) (text string, at time.Time, err error) {
	t := parts.Timestamp
	if t == nil {
		return "", time.Time{}, nil
	}
	place := "header " + t.Header
	if t.Header != "" {
		text = strings.TrimSpace(r.Header.Get(t.Header))
	} else {
		place = fmt.Sprintf("header %s, behind %s", parts.Signatures.Header, t.In)
		all := signatureTexts(parts.Signatures, r)
		if i := slices.IndexFunc(all, func(s string) bool { return strings.HasPrefix(s, t.In) }); i >= 0 {
			text = strings.TrimPrefix(all[i], t.In)
		}
	}
	bad := func(what string) error {
		return &Unverified{CodeTimestamp, fmt.Sprintf("the request has %s in its %s", what, place),
			"send the time at which it was signed"}
	}
	if text == "" {
		return "", at, bad("no time")
	}
	if at, err = readTime(t.Format, text); err != nil {
		return "", at, bad("no time that can be read")
	}
	return text, at, nil
}

// latest bounds the times that are counted with: later ones would overflow.
const latest = 1 << 40

func readTime(format, text string) (time.Time, error) {
	if format == rfc3339 {
		return time.Parse(time.RFC3339Nano, text)
	}
	n, err := strconv.ParseUint(text, 10, 63)
	switch {
	case err != nil:
		return time.Time{}, err
	case format == unixMillis && n/1000 < latest:
		return time.UnixMilli(int64(n)), nil
	case format == unix && n < latest:
		return time.Unix(int64(n), 0), nil
	}
	return time.Time{}, strconv.ErrRange
}

// signedContent is what the sender has signed, if it has called the address.
func signedContent(parts eventlog.HookVerify, r *Request, address, stamp string) ([]byte, error) {
	template, err := parseSigned(parts.Signed)
	if err != nil {
		return nil, &Unverified{CodeSignature, "the declaration of this hook cannot be read", "deploy it again"}
	}
	text, missing := template.fill(func(s source, name string) (string, bool) {
		switch s {
		case fromBody:
			return string(r.Body), true
		case fromTimestamp:
			return stamp, true
		case fromURL:
			return address, true
		case fromMethod:
			return r.Method, true
		case fromHeader:
			return only(r.Header.Values(name)), true
		case fromQuery:
			return only(queryValues(r, name)), true
		case fromForm:
			return sortedForm(r), true
		}
		return "", false
	})
	for _, name := range missing {
		// A part that is not there is as good as one that is not signed.
		if strings.HasPrefix(name, "{"+string(fromHeader)) || strings.HasPrefix(name, "{"+string(fromQuery)) {
			return nil, &Unverified{CodeUnsigned, "the request has no " + name + ", or several, and one has to be signed",
				"send it once, and sign it"}
		}
	}
	return []byte(text), nil
}

// keyOf is the key that a value of the secret stands for; false for one that verifies nothing.
func keyOf(parts eventlog.HookVerify, secret string) ([]byte, bool) {
	key, err := []byte(secret), error(nil)
	switch parts.SecretEncoding {
	case hexadecimal:
		key, err = hex.DecodeString(secret)
	case base64Text:
		// Standard Webhooks writes whsec_ before the base64. No base64 begins so: it has no underscore.
		key, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	}
	return key, err == nil && len(key) > 0
}

func sign(name string, key, content []byte) []byte {
	mac := hmac.New(hashes[name], key)
	mac.Write(content)
	return mac.Sum(nil)
}

var hashes = map[string]func() hash.Hash{sha1Hash: sha1.New, sha256Hash: sha256.New, sha512Hash: sha512.New}
