package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// carrying reads with one secret and sends another, and says all that it gets back.
const carrying = `export default Keep.workflow({
  name: "orders", topics: { orders: {}, answers: {} },
  consumers: { send: Keep.consumer({
    subscribe: ["orders"],
    async prepare(ctx) {
      const [order] = await ctx.peek("orders");
      if (!order) return { reservations: [], data: null };
      const shop = await ctx.http.get({ url: "http://HOST/shops/{shop}", secret: { path: { shop: "SHOP" } } });
      ctx.log("info", "read " + JSON.stringify(shop));
      return { reservations: [{ topic: "orders", ids: [order.id] }], data: shop.body, ui: { title: "Order " + JSON.stringify(shop.body) } };
    },
    async mutate(ctx, { data }) {
      await ctx.http.post({ url: "http://HOST/orders", body: { shop: data, auth: {} },
        secret: { header: { "X-Key": "KEY" }, query: { key: "KEY" }, body: { "auth.key": "KEY" } } });
    },
    async next(ctx, { data }, result) {
      if (!data) return;
      await ctx.publish("answers", { messageId: "answer", title: "Answer", payload: { result } });
      throw new Error("after " + JSON.stringify(result));
    },
  }) },
});
`

// A secret that is planted in the configuration reaches the host that it is for and stands nowhere else: not in the
// log, the store, the run logs, evidence, what commands print, or metrics, although the host repeats it in each answer.
func TestSecretsAreFoundNowhere(t *testing.T) {
	long(t)
	t.Parallel()
	const shop, key, token = "shop planted/1", `Bearer planted+2"k`, "planted.3/t"
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != url.QueryEscape("client planted/4") ||
			r.FormValue("refresh_token") != "planted 5" {
			t.Errorf("tokens are asked for with %q and %v", password, r.Form)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token, "token_type": "bearer",
			"refresh_token": "planted six"})
	}))
	t.Cleanup(tokens.Close)
	var mu sync.Mutex
	var sent []string
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		sent = append(sent, r.URL.Path+" "+r.Header.Get("X-Key")+" "+r.URL.Query().Get("key")+" "+string(body))
		if r.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("it came with %q", r.Header.Get("Authorization"))
		}
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Location", r.RequestURI)
		_ = json.NewEncoder(w).Encode(map[string]string{"uri": r.RequestURI, "path": r.URL.Path, "body": string(body),
			"key": r.Header.Get("X-Key"), "token": r.Header.Get("Authorization") + " planted six",
			"basic": base64.StdEncoding.EncodeToString([]byte("u:" + r.Header.Get("X-Key")))})
	}))
	t.Cleanup(host.Close)
	address := strings.TrimPrefix(host.URL, "http://")
	dir := place(t, map[string]string{
		"orders.ts": strings.ReplaceAll(carrying, "HOST", address), "keys/shop": shop + "\n", "keys/key": "planted+2\"k\n",
		"keys/client": "client planted/4\n", "keys/refresh": "planted 5",
		"pawl.yaml": `data: data
connectors: {http: {hosts: {"` + address + `": {private: true, oauth: {tokenUrl: "` + tokens.URL + `/token", clientId: pawl,
  clientSecret: "${file:keys/client}", refreshToken: "${file:keys/refresh}"}}}}}
secrets:
  SHOP: {value: "${file:keys/shop}", hosts: ["` + address + `"]}
  KEY: {value: ["Bearer ${file:keys/key}", "${file:keys/shop}"], hosts: ["` + address + `"]}
`,
	})
	p := startDaemon(t, dir, "pawl", "up", "orders.ts", "--grant", "http.post=allow")
	printed := mustRun(t, dir, 0, "pawl", "push", "orders", "orders", "--id", "1", "{}")
	p.await(`not allowed to use the secret SHOP`)
	printed += mustRun(t, dir, 0, "pawl", "grants", "orders", "secret.SHOP=allow", "secret.KEY=allow")
	printed += mustRun(t, dir, 0, "pawl", "resume", "orders")
	p.await(`after \{"status":"applied"`)
	mu.Lock()
	got := strings.Join(sent, "\n")
	mu.Unlock()
	if !strings.Contains(got, "/shops/"+shop+" ") || !strings.Contains(got, "/orders "+key+" "+key+" {") ||
		!strings.Contains(got, `"auth":{"key":"Bearer planted+2\"k"}`) || len(sent) != 2 {
		t.Errorf("the host got\n%s", got)
	}
	printed += mustRun(t, dir, 3, "pawl", "why", "orders")
	for _, line := range []string{"state orders", "log", "runs list", "mutations list --json", "events list --json",
		"grants orders", "connectors show http"} {
		printed += mustRun(t, dir, 0, "pawl", strings.Fields(line)...)
	}
	listed := mustRun(t, dir, 0, "pawl", "runs", "list", "--json")
	runs := regexp.MustCompile(`"id":\s*"([0-9A-Z]{26})"`).FindAllStringSubmatch(listed, -1)
	if len(runs) < 2 {
		t.Fatalf("%d runs", len(runs))
	}
	for _, run := range runs {
		printed += mustRun(t, dir, 0, "pawl", "runs", "show", "orders", run[1], "--evidence")
	}
	p.stop()
	wantNoSecret(t, "what was printed", []byte(printed+p.text()), "planted")
	if !strings.Contains(printed, "***") {
		t.Errorf("nothing was blanked out of\n%s", printed)
	}
	files := 0
	err := filepath.WalkDir(filepath.Join(dir, "data"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		wantNoSecret(t, path, content, "planted")
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("%d files below the data directory: %v", files, err)
	}
}

// A call that was approved is not sent once its secret is no longer granted.
func TestSecretsAreAskedForBeforeTheCall(t *testing.T) {
	long(t)
	t.Parallel()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			t.Error("it was sent")
		}
	}))
	t.Cleanup(host.Close)
	address := strings.TrimPrefix(host.URL, "http://")
	dir := place(t, map[string]string{
		"orders.ts": strings.ReplaceAll(carrying, "HOST", address), "shop": "planted-1", "key": "planted-2",
		"pawl.yaml": `data: data
connectors: {http: {hosts: {"` + address + `": {private: true}}}}
secrets:
  SHOP: {value: "${file:shop}", hosts: ["` + address + `"]}
  KEY: {value: "${file:key}", hosts: ["` + address + `"]}
`,
	})
	p := startDaemon(t, dir, "pawl", "up", "orders.ts", "--grant", "http.post=ask", "--grant", "secret.SHOP=allow",
		"--grant", "secret.KEY=allow")
	mustRun(t, dir, 0, "pawl", "push", "orders", "orders", "--id", "1", "{}")
	p.await(`waits for approval`)
	mustRun(t, dir, 0, "pawl", "grants", "orders", "secret.KEY=deny")
	mustRun(t, dir, 0, "sh", "-c", `pawl approve "$(pawl mutations list --status awaiting_approval | cut -f1)"`)
	p.await(`not allowed to use the secret KEY`)
	p.stop()
}

// wantNoSecret looks for the text, plain and in the forms that programs give it.
func wantNoSecret(t *testing.T, where string, content []byte, secret string) {
	t.Helper()
	forms := []string{secret, url.QueryEscape(secret)}
	for before := range 3 { // what stands before it shifts its base64
		text := base64.StdEncoding.EncodeToString(append(make([]byte, before), secret...))
		forms = append(forms, text[4:8])
	}
	for _, form := range forms {
		if at := bytes.Index(content, []byte(form)); at >= 0 {
			t.Errorf("%s shows it as %q: %q", where, form, content[max(0, at-60):min(len(content), at+60)])
		}
	}
}
