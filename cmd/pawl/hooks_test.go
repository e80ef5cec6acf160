package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// The hook of the page takes what GitHub would send once its secret is granted, and nothing else; its commands show it.
func TestAuthorsPageHooks(t *testing.T) {
	long(t)
	t.Parallel()
	part := pagePartOf(t, "Hooks: requests of other systems")
	commands := part.commands(t)
	const secret = "It's a Secret to Everybody"
	dir := place(t, map[string]string{
		"pushes.ts": part.code(t, "ts"), "github.secret": secret + "\n",
		"pawl.yaml": strings.Replace(part.code(t, "yaml"), "${env:GITHUB_WEBHOOK_SECRET}", "${file:github.secret}", 1),
	})
	p := startDaemon(t, dir, "pawl", "up", "pushes.ts", "--hooks-listen", ":0")
	where := regexp.MustCompile(`answering hooks alone on (http://127\.0\.0\.1:\d+)\n`)
	p.await(where.String())
	alone := where.FindStringSubmatch(p.text())[1]
	p.await(`secret\.notGranted`)
	post := func(body string) (int, string) {
		t.Helper()
		mac := hmac.New(sha256.New, []byte(secret))
		_, _ = mac.Write([]byte(body))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, alone+"/hooks/pushes/github",
			bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-GitHub-Event", "push")
		req.Header.Set("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
		req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	const body = `{"ref":"refs/heads/main","pusher":{"name":"ann"},"repository":{"full_name":"ann/shop"}}`
	if status, text := post(body); status != http.StatusServiceUnavailable || !strings.Contains(text, "hook.unready") {
		t.Errorf("before the grant: %d %s", status, text)
	}
	if out := mustRun(t, dir, 0, "pawl", "hooks"); !strings.Contains(out, "pawl grants pushes secret.GITHUB=allow") ||
		!strings.Contains(out, "/hooks/pushes/github") {
		t.Errorf("pawl hooks: %s", out)
	}
	// So do why and doctor.
	if out := mustRun(t, dir, 0, "pawl", "why", "pushes"); !strings.Contains(out, "Hook github refuses every request") ||
		!strings.Contains(out, "\n  pawl grants pushes secret.GITHUB=allow") {
		t.Errorf("pawl why: %s", out)
	}
	if out := mustRun(t, dir, 1, "pawl", "doctor"); !strings.Contains(out, "hook github of workflow pushes refuses every "+
		"request") || !strings.Contains(out, "pawl grants pushes secret.GITHUB=allow") {
		t.Errorf("pawl doctor: %s", out)
	}
	mustRun(t, dir, 0, "sh", "-c", commands[0])
	if status, text := post(body); status != http.StatusAccepted || !strings.Contains(text, "72d3162e") {
		t.Errorf("granted: %d %s", status, text)
	}
	if status, text := post(body); status != http.StatusOK {
		t.Errorf("again: %d %s", status, text)
	}
	out := mustRun(t, dir, 0, "sh", "-c", commands[1])
	if !strings.Contains(out, "answered 202") || !strings.Contains(out, "title    sample in ann/shop") ||
		!strings.Contains(out, `"ref":"refs/heads/main"`) {
		t.Errorf("%s: %s", commands[1], out)
	}
	out = mustRun(t, dir, 1, "pawl", "hooks", "test", "pushes", "github", "{")
	if !strings.Contains(out, "json.invalid") {
		t.Errorf("a broken body: %s", out)
	}
	listed := mustRun(t, dir, 0, "pawl", "hooks", "list", "--workflow", "pushes")
	if !strings.Contains(listed, "X-Hub-Signature-256: sha256=") || strings.Contains(listed, secret) {
		t.Errorf("pawl hooks list: %s", listed)
	}
	p.stop()
	if strings.Contains(p.text(), secret) {
		t.Error("the engine has printed the secret")
	}
}
