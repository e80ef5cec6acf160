package node_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/ops"
)

// post posts an order to the hook of the workflow until it is taken.
func (m *member) post(workflow, id string) {
	m.t.Helper()
	m.until("the hook takes an order", func() bool {
		status, _ := m.send(http.MethodPost, "/hooks/"+workflow+"/shop", fmt.Sprintf(`{"id":%q}`, id))
		if status >= 400 && status < 500 {
			m.t.Fatalf("the hook of %s answers %d", workflow, status)
		}
		return status == http.StatusAccepted || status == http.StatusOK
	})
}

// send sends a plain request, and returns the status and the position of what it has recorded; 0 for no answer.
func (m *member) send(method, path, body string) (status int, position string) {
	ctx, cancel := context.WithTimeout(m.t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, m.client.URL+path, strings.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+m.client.Token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, ""
	}
	_ = res.Body.Close()
	return res.StatusCode, res.Header.Get(ops.PositionHeader)
}

// skipped begins the names of orders that must not be posted.
const skipped = "skipped-"

// throughAnyNode writes to each workflow through one node and reads it at the other. A reader that names the
// position of a write sees it at once. Tokens hold on both nodes. What is done to many events at once reaches
// their owner. A request to the node that is not the owner goes to the owner and no further. It returns the orders
// that will be posted.
func throughAnyNode(t *testing.T, nc *nats.Conn, a, b *member, workflows int) (orders []string) {
	t.Helper()
	hops, err := nc.SubscribeSync("pawl.own.>")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hops.Unsubscribe() }() // the connection ends after the test
	var made struct{ Token string }
	if err := a.do("createToken", map[string]any{"name": "shared", "role": "admin"}, &made); err != nil {
		t.Fatal(err)
	}
	owners := b.client.Token
	b.client.Token = made.Token
	b.until("a token of the other node holds", func() bool { return b.do("listWorkflows", nil, nil) == nil })
	defer func() { b.client.Token = owners }()
	for w := range workflows {
		name := fmt.Sprintf("w%d", w)
		for _, way := range [][2]*member{{a, b}, {b, a}} {
			writer, reader := way[0], way[1]
			id := fmt.Sprintf("any-%s-%s", name, writer.name)
			orders = append(orders, id)
			status, position := writer.send(http.MethodPost, "/v1/workflows/"+name+"/topics/in/events",
				fmt.Sprintf(`[{"messageId":%q,"title":"x","payload":{}}]`, id))
			if status != http.StatusOK && status != http.StatusCreated || position == "" {
				t.Fatalf("push through %s: %d, position %q", writer.name, status, position)
			}
			status, _ = reader.send(http.MethodGet, "/v1/workflows/"+name+"/events/in/"+id+"?after="+position, "")
			if status != http.StatusOK {
				t.Errorf("%s was pushed through %s; node %s answers %d after %s", id, writer.name, reader.name, status, position)
			}
		}
		if n := requests(t, hops, "any-"+name+"-"); n != 1 {
			t.Errorf("%s: a push through each of two nodes makes %d requests to its owner, want 1", name, n)
		}
		for i, m := range []*member{a, b} { // one of the two is not the owner
			if err := m.do("pauseWorkflow", map[string]any{"workflow": name}, nil); err != nil {
				t.Fatal(err)
			}
			for n := range 2 {
				m.post(name, fmt.Sprintf("%s%s-%d-%d", skipped, name, i, n))
			}
			updated := 0
			m.until("both events are skipped", func() bool { // the node may read the second one a little later
				var answer struct{ Updated int }
				err := m.do("skipEvents", map[string]any{"workflow": name, "q": skipped}, &answer)
				updated += answer.Updated
				return err == nil && updated == 2
			})
			if err := m.do("resumeWorkflow", map[string]any{"workflow": name}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return orders
}

// requests counts the requests about an order among those that were seen since the last time; it waits for one.
func requests(t *testing.T, seen *nats.Subscription, order string) (n int) {
	t.Helper()
	for {
		m, err := seen.NextMsg(10 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(m.Data, []byte(order)) {
			n++
		}
		if pending, _, err := seen.Pending(); n > 0 && (err != nil || pending == 0) {
			return n
		}
	}
}
