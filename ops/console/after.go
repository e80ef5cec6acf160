package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/rpc"
)

// afterQuery is the parameter of a page that must show everything up to the positions.
const afterQuery = "after"

// lead sends the browser to the page that follows a form. Another node may answer that request, so the address names
// the positions up to which a node must have read the log first.
func (v *visit) lead(w http.ResponseWriter, to string) {
	if positions := v.recorded(); positions != "" {
		if u, err := url.Parse(to); err == nil {
			query := u.Query()
			query.Set(afterQuery, positions)
			u.RawQuery = query.Encode()
			to = u.String()
		}
	}
	http.Redirect(w, v.r, to, http.StatusSeeOther)
}

// awaitAfter waits until this engine has read the log up to the positions, and returns the request without the
// parameter. It waits before the login is looked up, since the login may be recorded at one of them. A browser without
// a login does not wait.
func (c *Console) awaitAfter(r *http.Request) (*http.Request, *rpc.Problem) {
	query := r.URL.Query()
	positions := query.Get(afterQuery)
	if positions == "" || !c.cfg.Guard.Shows(r) {
		return r, nil
	}
	if p := c.cfg.Await(r.Context(), positions); p != nil {
		return r, p
	}
	query.Del(afterQuery)
	r = r.Clone(r.Context())
	r.URL.RawQuery = query.Encode()
	return r, nil
}

const (
	// noteLife is how long a sentence waits for the page that shows it.
	noteLife = time.Minute
	// noteLength bounds a sentence, in characters: a browser keeps no cookie of more than 4 KiB.
	noteLength = 500
)

// say leaves a sentence for the next page of the browser. A cookie carries it, since another node may make that page.
// Its signature shows that the console has made it for this login.
func (v *visit) say(w http.ResponseWriter, sentence string) {
	text := base64.RawURLEncoding.EncodeToString([]byte(clip(noteLength, sentence)))
	v.setNote(w, text+"."+v.sign(text), noteLife)
}

// note is the sentence that was left for this page. It is shown once.
func (v *visit) note(w http.ResponseWriter) string {
	if v.r.Header.Get("HX-Request") != "" && v.r.Method == http.MethodGet {
		return "" // a page that updates itself shows no note
	}
	cookie, err := v.r.Cookie(v.noteName())
	if err != nil {
		return ""
	}
	v.setNote(w, "", -time.Second)
	text, signature, _ := strings.Cut(cookie.Value, ".")
	if !auth.FormOf(signature, v.sign(text)) {
		return "" // another server on this host has made it
	}
	said, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(said)
}

func (v *visit) setNote(w http.ResponseWriter, value string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{Name: v.noteName(), Value: value, Path: "/", MaxAge: int(life.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: v.r.TLS != nil})
}

// noteName is the name of the login's cookie for notes.
func (v *visit) noteName() string { return "pawl_note_" + v.sign("name")[:10] }

// sign signs a text with a key that only pages of this login know.
func (v *visit) sign(text string) string {
	signature := hmac.New(sha256.New, []byte("note "+v.form))
	signature.Write([]byte(text))
	return hex.EncodeToString(signature.Sum(nil))
}
