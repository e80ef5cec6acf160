package main

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// nodes starts two engines on one log of one part: one of them owns it, the other owns nothing.
func nodes(t *testing.T) (owner, other *world) {
	t.Helper()
	pawl := program(t)
	server := natstest.NewServer(t, natstest.Fast, func(c *embeddednats.Config) {
		c.ListenAddr, c.Insecure = "127.0.0.1:0", true
	})
	said, err := exec.CommandContext(t.Context(), pawl, "cluster", "init", "--nats", server.ClientURL(), "--partitions",
		"1").CombinedOutput()
	if err != nil {
		t.Fatalf("make the log: %v\n%s", err, said)
	}
	outside, err := startOutside()
	must(t, err)
	started := map[string]*world{}
	for _, name := range []string{"a", "b"} {
		w := &world{outside: outside, pawl: pawl, dir: t.TempDir()}
		t.Cleanup(w.close)
		must(t, w.start(t.Context(), "--nats", server.ClientURL(), "--node", name))
		started[name] = w
	}
	must(t, started["a"].until(t.Context(), "one of two nodes owns the part", func() (bool, error) {
		var cluster struct {
			Nodes []struct {
				Name string
				Owns int
			}
		}
		err := started["a"].ask(t.Context(), http.MethodGet, "/v1/cluster", nil, &cluster)
		for _, n := range cluster.Nodes {
			if n.Owns == 1 {
				owner = started[n.Name]
			} else {
				other = started[n.Name]
			}
		}
		return owner != nil && other != nil && owner != other, err
	}))
	return owner, other
}

// At a node that owns nothing a person logs in, sees what happens as it happens, approves, resolves and redrives, and
// each page shows at once what was done. The login holds at the owner too.
func TestNodeThatOwnsNothing(t *testing.T) {
	t.Parallel()
	owner, other := nodes(t)
	must(t, other.fill(t.Context(), hostileTitles))
	b := opened(t, other)
	must(t, b.logIn("admin"))
	p := walker{t, b, other}
	p.reads("Needs you", "payments", "orders", "reports")
	for _, path := range []string{"/ui/log", "/ui/system", "/ui/workflows/mail-to-books/list/runs",
		"/ui/workflows/orders/list/jobs?state=discarded", "/ui/workflows/mail-to-books/script",
		"/ui/workflows/mail-to-books/state?at=5"} {
		must(t, b.visit(path))
		quiet(t, b, path)
	}

	// What the owner is given is seen here at once.
	must(t, b.visit("/ui/workflows/mail-to-books"))
	_, err := evaluate[bool](b, `document.body.dataset.same = "yes", true`)
	must(t, err)
	must(t, owner.push(t.Context(), "mail-to-books", "mail", event{"m-zoe", "Order of Zoe", map[string]any{"total": 1}}))
	must(t, other.until(t.Context(), "the page shows the order and its change", func() (bool, error) {
		text, err := b.text()
		return strings.Contains(text, "Book Order of Zoe"), err
	}))
	if same, err := evaluate[bool](b, `document.body.dataset.same === "yes"`); err != nil || !same {
		t.Errorf("the page was opened again: %v", err)
	}

	p.on("/ui/needs").follow("Approve all")
	p.confirm("agreed with Ann")
	p.reads("Done: 5 of 5.")
	p.lacks("Approvals")
	must(t, other.until(t.Context(), "the refunds are made", func() (bool, error) {
		return other.outside.called("/refunds") == 5, nil
	}))
	p.on("/ui/needs").follow("It happened")
	p.confirm("the bank has it")
	p.reads("Done: it happened")
	p.lacks("Uncertain changes")
	p.state("payments", "idle")

	other.outside.recover()
	p.on("/ui/needs").follow("Redrive")
	p.confirm("")
	p.reads("Redrive of 30 events")
	must(t, other.until(t.Context(), "the page shows all as over", func() (bool, error) {
		text, err := b.text()
		return strings.Contains(text, "30 of 30 are over") && strings.Contains(text, "30 completed"), err
	}))
	if n := other.outside.called("/refuses/orders"); n != 2*discarded {
		t.Errorf("the orders were sent %d times", n)
	}
	quiet(t, b, "at the end")
}
