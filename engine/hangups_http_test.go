package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// moment is when a client hangs up.
type moment int

const (
	never moment = iota
	inHeaders
	inBody
	inWait
	inAnswer
	moments
)

const hangUpToken = "pawl_token-of-callers-that-hang-up"

// ask makes one request on a connection of its own and hangs up at the moment. It returns the status that
// the client has read, 0 when it has read none.
func ask(t *testing.T, address, path, body string, at moment) (status int) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer func() { _ = conn.Close() }()
	if rand.IntN(2) == 0 {
		_ = conn.(*net.TCPConn).SetLinger(0) // what is under way is cut off, not only ended
	}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n",
		path, address, hangUpToken, len(body))
	request := head + body
	switch at {
	case inHeaders:
		request = request[:1+rand.IntN(len(head)-1)]
	case inBody:
		request = request[:len(head)+rand.IntN(len(body))]
	}
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Error(err)
		return 0
	}
	switch at {
	case inHeaders, inBody:
		return 0
	case inWait:
		_ = conn.SetReadDeadline(time.Now().Add(time.Duration(rand.IntN(1<<(8+rand.IntN(8)))) * time.Microsecond))
		_, _ = conn.Read(make([]byte, 1))
		return 0
	case inAnswer:
		line, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
		if _, scanErr := fmt.Sscanf(line, "HTTP/1.1 %d", &status); err != nil || scanErr != nil {
			t.Errorf("an answer begins with %q (%v)", line, err)
		}
		return status
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// Two hundred clients of the HTTP interface hang up at every point of a request's life: in its headers, in
// its body, while they wait, while they are answered. What did not arrive whole is not recorded; each event
// that was acknowledged or is in the log is processed, once; the checkpoint reaches the head, and memory
// keeps nothing of it.
func TestHTTPClientsThatHangUp(t *testing.T) {
	t.Parallel()
	const clients, workflows, requests = 200, 40, 4
	b := enginetest.NewOn(t, lateLog{memlog.New(memlog.Config{Partitions: 2})})
	e := b.Start()
	named := func(n int) eventlog.WorkflowName { return eventlog.WorkflowName(fmt.Sprintf("orders%d", n)) }
	for n := range workflows {
		e.MustDeploy(strings.Replace(ordersWorkflow, `"orders"`, fmt.Sprintf("%q", named(n)), 1))
	}
	registry, err := connector.NewRegistry(b.World)
	if err != nil {
		t.Fatal(err)
	}
	server, err := ops.New(ops.Config{
		Engine: e.Engine, Log: b.Log, Reader: &readmodel.Reader{Store: b.Store, Flush: e.Flush},
		Connectors: deploy.CatalogOf(registry),
		Token:      hangUpToken, Version: "1.0.0", Installation: "test", Logger: b.Logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	serving, stopServing := context.WithCancel(t.Context())
	defer stopServing()
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving, listener) }()

	type sent struct {
		workflow eventlog.WorkflowName
		id       eventlog.MessageID
	}
	var mu sync.Mutex
	acknowledged, cut, answers := map[sent]bool{}, map[sent]bool{}, map[moment]map[int]int{}
	for at := range moments {
		answers[at] = map[int]int{}
	}
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for n := range requests {
				w, at := named(client%workflows), moment((client/workflows+n)%int(moments))
				path, body := fmt.Sprintf("/v1/workflows/%s/pause", w), "{}"
				push := sent{w, eventlog.MessageID(fmt.Sprintf("c%d-%d", client, n))}
				pushes := false
				switch rand.IntN(20) {
				case 0:
				case 1:
					path = fmt.Sprintf("/v1/workflows/%s/resume", w)
				default:
					pushes = true
					path = fmt.Sprintf("/v1/workflows/%s/topics/order.in/events", w)
					body = fmt.Sprintf(`[{"messageId":%q,"title":"Order","payload":{"id":%q}}]`, push.id, push.id)
				}
				status := ask(t, address, path, body, at)
				mu.Lock()
				answers[at][status]++
				acknowledged[push] = pushes && status == http.StatusOK
				cut[push] = at == inHeaders || at == inBody
				mu.Unlock()
				if status >= 500 || pushes && status != 0 && status != http.StatusOK {
					t.Errorf("%s was answered with %d", path, status)
				}
			}
		})
	}
	all.Wait()
	e.Rest(named(0))
	// Each workflow's last request comes alone: nothing after it makes good what it leaves behind.
	for n := range workflows {
		all.Go(func() {
			path := fmt.Sprintf("/v1/workflows/%s/topics/order.in/events", named(n))
			ask(t, address, path, fmt.Sprintf(`[{"messageId":"last-%d","title":"Order","payload":{"id":"last-%d"}}]`, n, n),
				inWait)
		})
	}
	all.Wait()
	stopServing()
	if err := <-served; err != nil { // every request has ended
		t.Fatal(err)
	}
	e.Rest(named(0))
	covered := func() {
		t.Helper()
		if err := e.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for p := range b.Log.Partitions() {
			last, err := b.Log.Last(t.Context(), p)
			if lag, lagErr := e.CheckpointLag(t.Context(), p); err != nil || lagErr != nil || lag != 0 ||
				e.ProcessedSeq(p) != last {
				t.Fatalf("partition %d: reached is %d, the log ends at %d, %d are not covered (%v, %v)", p, e.ProcessedSeq(p), last,
					lag,
					err, lagErr)
			}
		}
		if ahead, dirty := e.Held(); ahead != 0 || dirty != 0 {
			t.Errorf("memory holds %d positions and %d entities that nothing covers", ahead, dirty)
		}
	}
	covered() // before anything else is asked, which would settle what others have left
	for n := range workflows {
		if full := b.FullFold(named(n)); full.Pause == nil {
			continue
		}
		if err := e.Operate(t.Context(), enginetest.Tester, named(n), decide.Resume{}, "resume"); err != nil {
			t.Fatal(err)
		}
	}
	events := 0
	for n := range workflows {
		w := named(n)
		e.Rest(w)
		full := b.FullFold(w)
		for _, event := range full.Events() {
			if event.Topic != "order.in" {
				continue
			}
			if events++; event.Status != eventlog.EventStatusConsumed {
				t.Errorf("%s: event %s is %s", w, event.MessageID, event.Status)
			}
			if cut[sent{w, event.MessageID}] {
				t.Errorf("%s: event %s is in the log, though its request was cut off", w, event.MessageID)
			}
			delete(acknowledged, sent{w, event.MessageID})
		}
	}
	for push, told := range acknowledged {
		if told {
			t.Errorf("%s: event %s was acknowledged and is not in the log", push.workflow, push.id)
		}
	}
	if got := len(b.World.Effects()); got != events || len(b.World.Twice()) > 0 {
		t.Errorf("%d effects of %d events, twice %v", got, events, b.World.Twice())
	}
	covered()
	t.Logf("%d events, answers %v", events, answers)
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	for n := range workflows {
		b.MustAgree(named(n))
	}
}
