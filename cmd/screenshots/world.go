package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ordinaryTitles are those of the pictures.
var ordinaryTitles = []string{"Invoice 2041 of Ann", "Order of Ben", "Delivery note 77", "Reminder for invoice 1987",
	"Complaint about order 5512", "Order of Carla, two pieces"}

// hostileTitles may come from outside as well: none of them may do anything to a page.
var hostileTitles = []string{
	"Invoice 2041 of Ann", "Order of Ben", "Delivery note 77",
	`<script>document.title = "owned"</script>`,
	`"><img src=x onerror="document.title='owned'">`,
	"\u202eevil \u2066right\u2069 to left",
	"🧾 emoji 👩‍👩‍👧‍👦 and Zalgo t̸̪̽e̵̩͐x̷͇͠t̵",
	strings.Repeat("a title of ten kilobytes ", 410),
	"{{.Title}} ${title} %s javascript:alert(1)",
}

// world is an engine with workflows in every state.
type world struct {
	outside *outside
	engine  *exec.Cmd
	dir     string
	url     string
	token   string
	pawl    string
	said    bytes.Buffer
}

// newWorld starts an engine of this program in an empty folder. Where that fails, close still ends what was started.
func newWorld(ctx context.Context, pawl, dir string) (w *world, err error) {
	w = &world{dir: dir, pawl: pawl}
	if w.outside, err = startOutside(); err != nil {
		return w, err
	}
	return w, w.start(ctx)
}

// start starts the engine in its folder, with further flags of pawl serve.
func (w *world) start(ctx context.Context, flags ...string) error {
	settings := fmt.Sprintf("http: 127.0.0.1:0\nconnectors: {http: {hosts: {%q: {private: true, timeout: 5s}}}}\n"+
		"policies:\n  reconcile: {base: 20ms, factor: 2, max: 100ms, attempts: 1}\n"+
		"recordings: {tally: {runs: 10000}}\n", w.outside.host())
	if err := os.WriteFile(filepath.Join(w.dir, "pawl.yaml"), []byte(settings), 0o600); err != nil {
		return err
	}
	w.engine = exec.CommandContext(ctx, w.pawl, append([]string{"serve", "--data", "data"}, flags...)...)
	w.engine.Dir, w.engine.Env = w.dir, append(os.Environ(), "NO_COLOR=1", "USER=ann")
	w.engine.Stdout, w.engine.Stderr = &w.said, &w.said
	w.engine.Cancel = func() error { return w.engine.Process.Signal(os.Interrupt) }
	w.engine.WaitDelay = 20 * time.Second
	if err := w.engine.Start(); err != nil {
		return err
	}
	if err := w.find(ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, w.said.String())
	}
	return nil
}

// find waits until the engine answers.
func (w *world) find(ctx context.Context) error {
	return w.until(ctx, "the engine answers", func() (bool, error) {
		url, err := os.ReadFile(filepath.Join(w.dir, "data", "http.url"))
		if err != nil {
			return false, nil
		}
		token, err := os.ReadFile(filepath.Join(w.dir, "data", "http.token"))
		if err != nil {
			return false, nil
		}
		w.url, w.token = strings.TrimSpace(string(url)), strings.TrimSpace(string(token))
		res, err := http.Get(w.url + "/readyz")
		if err != nil {
			return false, nil
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK, nil
	})
}

// waitLimit bounds each wait for the engine or the browser.
const waitLimit = 2 * time.Minute

// until asks again and again until the answer is yes.
func (w *world) until(ctx context.Context, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		switch is, err := so(); {
		case err != nil:
			return fmt.Errorf("wait until %s: %w", what, err)
		case is:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, ctx.Err())
		case <-again.C:
		}
	}
}

func (w *world) close() {
	if w.engine != nil && w.engine.Process != nil {
		_ = w.engine.Process.Signal(os.Interrupt)
		_ = w.engine.Wait()
	}
	if w.outside != nil {
		w.outside.close()
	}
}

// ask calls an operation over HTTP. Any answer but a success is an error.
func (w *world) ask(ctx context.Context, method, path string, body, answer any) error {
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, text)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Pawl-Actor", "ann")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	said, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode >= 300:
		return fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, said)
	case answer == nil:
		return nil
	}
	return json.Unmarshal(said, answer)
}

// deploy deploys a workflow of the world.
func (w *world) deploy(ctx context.Context, name string) error {
	grants := map[string]string{"*": "allow"}
	if name == "refunds" {
		grants["http.post"] = "ask"
	}
	return w.ask(ctx, http.MethodPost, "/v1/workflows", map[string]any{
		"source": strings.ReplaceAll(workflows[name], "HOST", w.outside.host()), "filename": name + ".ts", "grants": grants,
	}, nil)
}

type event struct {
	MessageID string `json:"messageId"`
	Title     string `json:"title"`
	Payload   any    `json:"payload"`
}

func (w *world) push(ctx context.Context, workflow, topic string, events ...event) error {
	return w.ask(ctx, http.MethodPost, "/v1/workflows/"+workflow+"/topics/"+topic+"/events", events, nil)
}

// discarded is how many orders are discarded.
const discarded = 30

// fill brings each workflow into its state. The titles are those of the mails that come in.
func (w *world) fill(ctx context.Context, titles []string) error {
	for _, name := range slices.Sorted(maps.Keys(workflows)) {
		if err := w.deploy(ctx, name); err != nil {
			return err
		}
	}
	if err := w.ask(ctx, http.MethodPost, "/v1/workflows/newsletter/pause", nil, nil); err != nil {
		return err
	}
	var mails, orders, refunds []event
	for i, title := range titles {
		mails = append(mails, event{fmt.Sprintf("mail-%d@example.org", i+1), title, map[string]any{"total": 20 + i}})
	}
	for i := range discarded {
		orders = append(orders, event{fmt.Sprintf("order-%d", i+1), fmt.Sprintf("%d of A-7", i+1),
			map[string]any{"article": "A-7", "amount": i + 1}})
	}
	for i := range 5 {
		refunds = append(refunds, event{fmt.Sprintf("refund-%d", i+1), fmt.Sprintf("%d0.00 € to customer %d", i+1, i+1),
			map[string]any{"customer": i + 1, "cents": (i + 1) * 1000}})
	}
	for _, p := range []struct {
		workflow, topic string
		events          []event
	}{
		{"mail-to-books", "mail", mails}, {"orders", "placed", orders}, {"refunds", "asked", refunds},
		{"payments", "due", []event{{"rent", "the rent of May", map[string]any{"iban": "DE02 1203", "cents": 98000}}}},
		{"reports", "raw", []event{{"r-1", "Sales of May", map[string]any{"sum": 12}}}},
		{"newsletter", "issue", []event{{"i-1", "Issue 1", nil}}},
	} {
		if err := w.push(ctx, p.workflow, p.topic, p.events...); err != nil {
			return err
		}
	}
	return errors.Join(w.awaitReason(ctx, "mail-to-books", "scheduled"), w.awaitReason(ctx, "payments", "indeterminate"),
		w.awaitReason(ctx, "reports", "maintenance"), w.awaitReason(ctx, "orders", "idle"),
		w.until(ctx, "refunds await approval", func() (bool, error) {
			var held struct{ Items []any }
			err := w.ask(ctx, http.MethodGet, "/v1/mutations?held=approval", nil, &held)
			return len(held.Items) == 5, err
		}))
}

// awaitReason waits until the workflow has stopped and gives this reason for it.
func (w *world) awaitReason(ctx context.Context, workflow, reason string) error {
	last := ""
	err := w.until(ctx, workflow+" is "+reason, func() (bool, error) {
		var why struct {
			Moving bool
			Reason *string
		}
		err := w.ask(ctx, http.MethodGet, "/v1/workflows/"+workflow+"/why", nil, &why)
		if why.Reason != nil {
			last = *why.Reason
		}
		return !why.Moving && last == reason, err
	})
	if err != nil {
		return fmt.Errorf("%w; it is %s", err, last)
	}
	return nil
}

// link is a one-time link to the console.
func (w *world) link(ctx context.Context, role string) (string, error) {
	opening := exec.CommandContext(ctx, w.pawl, "open", "--print", "--role", role, "--data", "data")
	opening.Dir, opening.Env = w.dir, append(os.Environ(), "NO_COLOR=1", "USER=ann")
	out, err := opening.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return "", fmt.Errorf("pawl open: %w: %s", err, failed.Stderr)
		}
		return "", fmt.Errorf("pawl open: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
