package hook

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// bodyHashQuery is where Twilio puts the SHA-256 of a body that is no form.
const bodyHashQuery = "bodySHA256"

// sortedForm is what Twilio signs behind the address: each name of a field with each of its values, both in order, each
// value once.
func sortedForm(r *Request) string {
	c, err := r.read()
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.form)) {
		values := slices.Clone(c.form[name])
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			b.WriteString(name + value)
		}
	}
	return b.String()
}

// bodyIsSigned reports whether the body is a form, whose fields are signed, or has the hash that the signed address
// carries. Where there is a hash it counts: the type of the body is not signed, and a body may be taken away.
func bodyIsSigned(r *Request) bool {
	c, err := r.read()
	if err != nil {
		return false
	}
	if !c.query.Has(bodyHashQuery) {
		return c.form != nil || len(r.Body) == 0
	}
	sum := sha256.Sum256(r.Body)
	want, err := hex.DecodeString(c.query.Get(bodyHashQuery))
	return err == nil && subtle.ConstantTimeCompare(sum[:], want) == 1
}

// addresses are those that the sender may have signed: Twilio's libraries accept the address with and without the port
// of its scheme.
func addresses(scheme string, r *Request) []string {
	all := []string{r.URL}
	u, err := url.Parse(r.URL)
	if scheme != schemeTwilio || err != nil {
		return all
	}
	start := u.Scheme + "://"
	rest := strings.TrimPrefix(r.URL, start+u.Host)
	switch {
	case u.Port() != "":
		all = append(all, start+strings.TrimSuffix(u.Host, ":"+u.Port())+rest)
	case u.Scheme == "https":
		all = append(all, start+u.Host+":443"+rest)
	default:
		all = append(all, start+u.Host+":80"+rest)
	}
	return all
}
