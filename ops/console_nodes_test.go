package ops

import (
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/simulation/network"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// setupNodes starts engines on one log. The first owns its only partition; none can take it while the first renews.
func setupNodes(t *testing.T, count int) (nodes []*bundle) {
	t.Helper()
	const renew = 2 * time.Second
	log, between := memlog.New(memlog.Config{}), network.New(renew*15/2)
	t.Cleanup(between.Close)
	for number := 1; number <= count; number++ {
		link := between.Join(number)
		nodes = append(nodes, setupOn(t, log, func(c *Config, h *enginetest.Harness) {
			c.Links = link
			leases, err := lease.New(lease.Config{Bucket: link, Partitions: 1, Node: fmt.Sprintf("n%d", number),
				Renew: renew, Elapsed: link.Elapsed, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			h.Config.Leases, h.Config.Peers = leases, link
			if len(nodes) > 0 {
				h.World = nodes[0].bench.World
			}
		}))
		if number == 1 { // an operation is answered once the partition is owned
			nodes[0].deploy("shop", "send", eventlog.GrantAsk)
		}
	}
	return nodes
}

// at is the same browser in front of another node.
func (u *browser) at(node *bundle) *browser {
	return &browser{bundle: node, cookie: u.cookie, notes: u.notes}
}

// acts confirms an action at one node, and returns what the page says that it leads to at another one.
func (u *browser) acts(address string, next *browser) string {
	u.t.Helper()
	said := u.get(address)
	form := url.Values{"comment": {"agreed"}}
	_, fields, _ := strings.Cut(said, `<form method="post" action="/ui/act/`)
	for _, m := range hiddenInput.FindAllStringSubmatch(fields, -1) {
		form.Add(html.UnescapeString(m[1]), html.UnescapeString(m[2]))
	}
	action, _, _ := strings.Cut(strings.TrimPrefix(address, "/ui/act/"), "?")
	res, body := u.send("POST", "/ui/act/"+action, form)
	to := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.Contains(to, "after=") {
		u.t.Fatalf("%s: %d to %q\n%s", address, res.StatusCode, to, body)
	}
	return next.get(to)
}

// A node that owns nothing answers every page, and what is done there is recorded by the owner. A login holds at every
// node, each page shows what was done at another node before, and a login that is closed is closed everywhere.
func TestConsoleOfAnotherNode(t *testing.T) {
	t.Parallel()
	nodes := setupNodes(t, 3)
	owner, other, third := nodes[0], nodes[1], nodes[2]
	for i, n := range nodes {
		if owned := n.engine.Partitions()[0].Owned; owned != (i == 0) {
			t.Fatalf("node %d owns the partition: %v", i+1, owned)
		}
	}
	other.push("shop", "o-1", "o-2")
	owner.engine.Rest("shop")
	u := other.browse(testToken, "operator")
	elsewhere, atOwner := u.at(third), u.at(owner)
	form := u.form()
	for _, b := range []*browser{elsewhere, atOwner} { // forms of one node are taken by the others
		if got := b.form(); got != form {
			t.Error("the forms of the nodes differ")
		}
	}
	pages := u.pagesOf("shop")
	if len(pages) < 16 {
		t.Fatalf("only the pages %q", pages)
	}
	for _, p := range pages {
		if p == "/ui/edit?workflow=shop" {
			continue // only an admin deploys
		}
		u.get(p)
	}

	if body := u.acts("/ui/act/pauseWorkflow?workflow=shop&back=/ui/workflows/shop", elsewhere); !strings.Contains(body,
		"paused by ann") || !strings.Contains(body, "Done: pause") {
		t.Errorf("the third node does not show the pause:\n%s", body)
	}
	if body := elsewhere.get("/ui/workflows/shop"); strings.Contains(body, "Done: pause") {
		t.Errorf("it is said again what was done:\n%s", body)
	}
	if body := u.acts("/ui/act/resumeWorkflow?workflow=shop&back=/ui/workflows/shop", atOwner); strings.Contains(body,
		"paused by ann") {
		t.Errorf("the owner still shows the pause:\n%s", body)
	}
	var held readmodel.Page[readmodel.Mutation]
	owner.do("listMutations", map[string]any{"held": "approval"}, &held)
	if len(held.Items) == 0 {
		t.Fatal("no call waits for an approval")
	}
	m := held.Items[0]
	address := fmt.Sprintf("/ui/act/approveMutation?mutation=%s&paramsHash=%s&back=/ui/mutations/%s", m.ID, m.ParamsHash,
		m.ID)
	if body := u.acts(address, elsewhere); strings.Contains(body, "awaiting approval") {
		t.Errorf("the third node does not show the approval:\n%s", body)
	}
	owner.engine.Rest("shop")
	if sent := owner.bench.World.Effects(); len(sent) != 1 {
		t.Errorf("the calls were %v", sent)
	}
	owner.do("getMutation", map[string]any{"mutation": m.ID}, &m)
	if m.Comment == nil || m.Comment.By.Name != "ann" || m.Comment.Text != "agreed" {
		t.Errorf("the approval says %+v", m.Comment)
	}

	if res, _ := elsewhere.send("POST", "/ui/logout", url.Values{"form": {form}}); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("log out at the third node: %d", res.StatusCode)
	}
	for i, n := range nodes {
		// A page that waits for what was recorded: each node has then read that the login is closed.
		res, _ := u.at(n).send("GET", "/?after="+url.QueryEscape(head(n)), nil)
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("node %d after logging out: %d", i+1, res.StatusCode)
		}
	}
}

// What is redriven at a node that owns nothing is shown at each node, also to others and later, with its progress.
func TestRedriveOfAnotherNode(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it runs three engines")
	}
	t.Parallel()
	nodes := setupNodes(t, 3)
	owner, other, third := nodes[0], nodes[1], nodes[2]
	owner.discard()
	u := other.browse(testToken, "operator")
	said := u.acts("/ui/act/redriveEvents?workflow=shop&state=discarded&back=/ui/needs", u.at(third))
	if !strings.Contains(said, "Done: 30 of 30.") || !strings.Contains(said, "Redrive of 30 events") {
		t.Errorf("the third node shows:\n%s", said)
	}
	page := regexp.MustCompile(`hx-get="(/ui/workflows/shop/redrive\?[^"]+)"`).FindStringSubmatch(said)
	if page == nil {
		t.Fatalf("the page has no address of its own:\n%s", said)
	}
	owner.engine.Rest("shop")
	address, viewer := html.UnescapeString(page[1]), owner.browse(testToken, "viewer")
	if said := viewer.get(address); !strings.Contains(said, "<b>30</b> of 30 are over") {
		t.Errorf("a viewer is shown afterwards:\n%s", said)
	}
	res, body := viewer.send("GET", "/ui/workflows/shop/redrive?at=0:1", nil)
	if res.StatusCode != http.StatusNotFound || !strings.Contains(body, "No redrive of this workflow") {
		t.Errorf("what is no redrive: %d\n%s", res.StatusCode, body)
	}
}

// head is the last position of the log.
func head(b *bundle) string {
	b.t.Helper()
	last, err := b.bench.Log.Last(b.t.Context(), 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return eventlog.Position{Partition: 0, Seq: last}.String()
}
