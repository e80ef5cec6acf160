package lifecycle_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// F13 and J2 with a bound of our own: a call whose turn at its host comes too late was not sent. It uses up no attempt
// of its event, however often that happens, and the workflow waits as long as the bound makes it.
func TestF13_ABoundOfTheHostUsesUpNoAttempt(t *testing.T) {
	l := live(t)
	g := &gateway{t: t, answers: make(chan func(http.ResponseWriter), 10), posts: make(chan string, 100)}
	g.up()
	t.Cleanup(func() { g.web.Close() })
	client, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{g.address: {
		Private: true, Rate: "1/h",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	l.bench.Others = []connector.Connector{client}
	l.restart()
	l.deploy(shop{options: "maxAttempts: 0,",
		mutate: fmt.Sprintf(`await ctx.http.post({ url: "http://%s/orders", body: data.order });`, g.address)})
	l.push("a")
	l.wantEvent("a", "consumed")
	l.push("b")
	for range 3 { // the engine's clock is not that of the host's bound: the turn does not come
		if j := l.job("b"); j.Attempt != 1 || string(j.State) != "retryable" {
			t.Fatalf("the job is %s and at attempt %d", j.State, j.Attempt)
		}
		l.wantWhy(decide.ReasonBackoff)
		all := l.mutations()
		m := all[len(all)-1]
		if m.Status != "failed" || m.ResolvedBy == nil || *m.ResolvedBy != eventlog.ResolvedByNeverSent ||
			!strings.Contains(m.Error.Message, "hosts."+g.address+".rate") {
			t.Fatalf("%+v", m)
		}
		l.advance("1h")
	}
	g.wantPosts(1)
}
