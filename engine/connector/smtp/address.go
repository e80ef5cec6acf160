package smtp

import (
	"errors"
	"fmt"
	"net/mail"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

const (
	maxAddress = 254 // RFC 5321 §4.5.3.1.3, without the angle brackets
	maxLocal   = 64
)

// plainLocal is the part before the @ of the addresses that mails are sent to and from. What needs quotes there is
// refused: it could hold what ends an address in a command.
var plainLocal = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$")

// parseAddress reads one address, with or without a name: `ann@example.com` or `Ann <ann@example.com>`. The address
// is ASCII, a domain in another script is encoded.
func parseAddress(text string) (mail.Address, error) {
	parsed, err := mail.ParseAddress(text)
	if err != nil {
		return mail.Address{}, fmt.Errorf("%q is not one mail address", text)
	}
	at := strings.LastIndexByte(parsed.Address, '@')
	local, domain := parsed.Address[:at], parsed.Address[at+1:]
	if !plainLocal.MatchString(local) || len(local) > maxLocal {
		return mail.Address{}, fmt.Errorf("%q: the part before the @ is not usable: want letters, digits and "+
			"!#$%%&'*+/=?^_`{|}~-. without quotes, at most %d", text, maxLocal)
	}
	ascii, err := idna.Lookup.ToASCII(domain)
	if err != nil || strings.ContainsAny(ascii, "[]") {
		return mail.Address{}, fmt.Errorf("%q: %q is not a domain", text, domain)
	}
	name, err := oneLine(parsed.Name)
	if err != nil {
		return mail.Address{}, fmt.Errorf("%q: the name %w", text, err)
	}
	address := mail.Address{Name: name, Address: local + "@" + ascii}
	if len(address.Address) > maxAddress {
		return mail.Address{}, fmt.Errorf("%q is longer than %d bytes", text, maxAddress)
	}
	return address, nil
}

var errControl = errors.New("has a control character, such as a line break")

// oneLine is a text fit for a header: without control characters, and with single spaces only, as a header that is
// broken at a run of spaces would have a line of nothing else.
func oneLine(text string) (string, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }) {
		return "", errControl
	}
	return strings.Join(strings.Fields(text), " "), nil
}
