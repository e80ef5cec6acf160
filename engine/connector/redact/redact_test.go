package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/eventlog"
)

// Every form in which an answer repeats a secret is blanked, alone and inside of other text.
func TestForms(t *testing.T) {
	t.Parallel()
	const secret = `p/w "ö"+<s3cret>`
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	r := redact.New([]string{secret, "abc"})
	forms := []string{secret, url.QueryEscape(secret), strings.ToLower(url.PathEscape(secret)),
		string(quoted[1 : len(quoted)-1]), base64.RawURLEncoding.EncodeToString([]byte(secret))}
	for _, form := range forms {
		if got := r.Text("<" + form + ">"); got != "<***>" {
			t.Errorf("%s becomes %s", form, got)
		}
	}
	for before := range 4 { // as in the answer to a PLAIN login, which is base64 of NUL, user, NUL, password
		text := base64.StdEncoding.EncodeToString([]byte("\x00use"[:before] + secret + ":more"))
		if got := r.Text(text); !strings.Contains(got, "***") || len(got) > len(text)/2 {
			t.Errorf("behind %d bytes, %s becomes %s", before, text, got)
		}
	}
	// A value too short to be told from other text stays.
	if got := r.Text("abc"); got != "abc" {
		t.Errorf("abc becomes %s", got)
	}
	if got, changed := r.Bytes([]byte("nothing in it")); changed || string(got) != "nothing in it" {
		t.Errorf("Bytes = %s, %v", got, changed)
	}
	if got, changed := r.Bytes([]byte(secret)); !changed || string(got) != "***" {
		t.Errorf("Bytes = %s, %v", got, changed)
	}
}

// Blanking changes the message of a failure and nothing else.
func TestFailures(t *testing.T) {
	t.Parallel()
	r := redact.New([]string{"s3cret"})
	failure := connector.Failf(eventlog.Auth, "x.refused", "no: s3cret")
	got := r.Outcome(connector.FailedWith(failure))
	if fmt.Sprint(got.Status, got.Failure.Class, got.Failure.Code, got.Failure.Message) !=
		fmt.Sprint(connector.Failed, eventlog.Auth, "x.refused", "no: ***") {
		t.Errorf("the outcome is %+v", got)
	}
	if failure.Message != "no: s3cret" {
		t.Errorf("the failure itself was changed: %s", failure.Message)
	}
	if r.Failure(nil) != nil {
		t.Error("no failure became one")
	}
}
