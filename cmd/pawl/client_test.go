package main

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

func testRun(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Chdir(t.TempDir())
	var out, complaints bytes.Buffer
	code = underTest().run(t.Context(), args, strings.NewReader(""), &out, &complaints, func(string) (string, bool) {
		return "", false
	})
	return out.String(), complaints.String(), code
}

// What is wrong with the command line is not taken for an engine that is away, and a password is not
// repeated.
func TestAddressesThatAreNone(t *testing.T) {
	for _, test := range []struct {
		flag, value, want string
	}{
		{"--url", "bla bla", "it is no URL"},
		{"--url", "nats://user:s3cret@127.0.0.1:4222", "write it as --nats URL"},
		{"--url", "ftp://user:s3cret@127.0.0.1:4222", "over http or https, not over ftp"},
		{"--url", "http://user:s3cret@127.0.0.1:1", "its token is taken from PAWL_TOKEN"},
		{"--url", "http://s3cret:s3cret@%zz", "it is no URL"},
		{"--url", "http://", "is not host and port"},
		{"--url", "127.0.0.1:99999", "port 99999 is not between 0 and 65535"},
		{"--nats", "http://user:s3cret@127.0.0.1:7070", "begins with nats or tls, not with http"},
		{"--nats", "nats://user:s3cret", "it is no URL"},
		{"--nats", "nats://s3cret/s3cret@127.0.0.1", "it is not user, password, host and port"},
		{"--nats", "nats://user:s3cret@127.0.0.1:99999", "port 99999 is not between 0 and 65535"},
		{"--nats", "nats://user:s3cret@:4222", "it is not user, password, host and port"},
		{"--nats", "@missing.url", "open missing.url"},
		{"--as", "a\nb", "without control characters"},
		{"--as", strings.Repeat("x", 129), "at most 128"},
	} {
		_, stderr, code := testRun(t, "why", test.flag, test.value)
		if code != exit.CodeUsage || !strings.Contains(stderr, test.want) || strings.Contains(stderr, "s3cret") {
			t.Errorf("%s %q: exit code %d, %s", test.flag, test.value, code, stderr)
		}
	}
}

// Where an engine is reached over NATS and over HTTP is said in one place at a time: the command line
// is stronger than the environment, and that is stronger than the file.
func TestNATSTakesThePlaceOfHTTP(t *testing.T) {
	const http, nats = "http://127.0.0.1:1", "nats://operator:s3cret@127.0.0.1:1"
	for _, test := range []struct {
		args      []string
		env, file string
		want      string
	}{
		{[]string{"--nats", nats}, "", "", "no engine answers at nats://127.0.0.1:1 (as configured)"},
		{nil, "PAWL_NATS=" + nats, "", "no engine answers at nats://127.0.0.1:1"},
		{nil, "", "nats: " + nats, "no engine answers at nats://127.0.0.1:1"},
		{[]string{"--nats", nats}, "PAWL_URL=" + http, "url: " + http, "no engine answers at nats://127.0.0.1:1"},
		{[]string{"--url", http}, "PAWL_NATS=" + nats, "nats: " + nats, "no engine answers at http://127.0.0.1:1"},
		{nil, "PAWL_URL=" + http, "nats: " + nats, "no engine answers at http://127.0.0.1:1"},
		{nil, "PAWL_NATS=" + nats, "url: " + http, "no engine answers at nats://127.0.0.1:1"},
		{[]string{"--nats", nats, "--url", http}, "", "", "both url and nats are set"},
		{nil, "PAWL_NATS=" + nats + " PAWL_URL=" + http, "", "both url and nats are set"},
		{nil, "", "url: " + http + "\nnats: " + nats, "pawl.yaml:2:7: both url and nats are set"},
	} {
		t.Chdir(t.TempDir())
		if test.file != "" {
			if err := os.WriteFile(config.FileName, []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		env := map[string]string{}
		for pair := range strings.FieldsSeq(test.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		var out, complaints bytes.Buffer
		code := underTest().run(t.Context(), append([]string{"why"}, test.args...), strings.NewReader(""), &out, &complaints,
			variables(env))
		want := exit.CodeUnreachable
		if strings.Contains(test.want, "both") {
			want = exit.CodeUsage
		}
		if stderr := complaints.String(); code != want || !strings.Contains(stderr, test.want) ||
			strings.Contains(stderr, "s3cret") {
			t.Errorf("%v %s %q: exit code %d, %s", test.args, test.env, test.file, code, stderr)
		}
	}
}

func TestAddressesToListenOnThatAreNone(t *testing.T) {
	for _, args := range [][]string{
		{"--http", "127.0.0.1:99999"}, {"--http", "127.0.0.1:0", "--nats-listen", "127.0.0.1:99999"},
	} {
		_, stderr, code := testRun(t, append([]string{"serve", "--data", "d"}, args...)...)
		if code != exit.CodeUsage || !strings.Contains(stderr, "port 99999 is not between 0 and 65535") {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

// An engine with a certificate that is not trusted is there, and starting another is no help.
func TestUntrustedCertificateIsNamed(t *testing.T) {
	engine := httptest.NewUnstartedServer(http.NotFoundHandler())
	engine.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	engine.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about clients that hang up
	engine.StartTLS()
	defer engine.Close()
	for _, command := range [][]string{{"why"}, {"log"}, {"verify"}} {
		_, stderr, code := testRun(t, append(command, "--url", engine.URL)...)
		if code != exit.CodeUnreachable || !strings.Contains(stderr, "its certificate is not trusted: x509: ") ||
			!strings.Contains(stderr, "SSL_CERT_FILE") || strings.Contains(stderr, "no engine answers") {
			t.Errorf("%v: exit code %d, %s", command, code, stderr)
		}
	}
}

func TestActionsWantTheirArguments(t *testing.T) {
	for _, test := range []struct {
		want string
		args []string
	}{
		{"--happened, --did-not-happen, --skip or --ask-again", []string{"resolve", "M"}},
		{`RESULT "1" belongs to --happened`, []string{"resolve", "M", "--skip", "1"}},
		{`RESULT "sent" is not JSON`, []string{"resolve", "M", "--happened", "sent"}},
		{
			"--rate is 0; it must be a number of 1 or more",
			[]string{"redrive", "w", "--where", "state=discarded", "--rate", "0"},
		},
		{"--rate is -1", []string{"redrive", "w", "t", "m", "--rate=-1"}},
	} {
		if _, stderr, code := testRun(t, test.args...); code != exit.CodeUsage || !strings.Contains(stderr, test.want) {
			t.Errorf("%v: exit code %d, %s", test.args, code, stderr)
		}
	}
	// What a flag was first called still means the same, and so does its other name.
	for _, flag := range []string{"--ask-again", "--try-again", "--did-not-happen", "--send-again"} {
		_, stderr, _ := testRun(t, "resolve", "M", flag, "1")
		if !strings.Contains(stderr, `RESULT "1" belongs to --happened`) {
			t.Errorf("%s is no way to resolve: %s", flag, stderr)
		}
	}
	if help, _, _ := testRun(t, "resolve", "--help"); strings.Contains(help, "resolve <mutation> --") ||
		strings.Contains(help, "--did-not-happen --skip") {
		t.Errorf("the help shows three exclusive flags as required:\n%s", help)
	}
}
