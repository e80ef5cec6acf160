package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// counter is what the tool changes, with the outcome of every call, by key.
type counter struct {
	mu      sync.Mutex
	total   int
	answers map[string]answer
}

type answer struct {
	Total   int  `json:"total"`
	refused bool // given up: it must never be carried out any more
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "counter:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: tool FILE, the file with its NATS URL: pawl connectors add counter writes " +
			".pawl/nats/tools/counter.url")
	}
	address, err := os.ReadFile(os.Args[1])
	if err != nil {
		return fmt.Errorf("read the NATS URL: %w", err)
	}
	nc, err := nats.Connect(strings.TrimSpace(string(address)), nats.MaxReconnects(-1))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer nc.Close()
	service, err := micro.AddService(nc, micro.Config{Name: "counter", Version: "1.0.0"})
	if err != nil {
		return fmt.Errorf("serve counter: %w", err)
	}
	c := &counter{answers: make(map[string]answer)}
	const total = `{"type": "object", "required": ["total"], "properties": {"total": {"type": "integer"}}}`
	group := service.AddGroup("pawl.tool.counter")
	for _, e := range []struct {
		name     string
		handle   micro.HandlerFunc
		metadata map[string]string
	}{
		{"read", c.read, map[string]string{"pawl.kind": "get", "pawl.summary": "Read the total.", "pawl.result": total}},
		{"add", c.add, map[string]string{"pawl.kind": "mutate", "pawl.reconcile": "added", "pawl.timeout": "5s",
			"pawl.summary": "Add to the total.", "pawl.result": total,
			"pawl.schema": `{"type": "object", "required": ["by"], "properties": {"by": {"type": "integer"}}}`}},
		{"added", c.added, map[string]string{"pawl.kind": "reconcile"}},
	} {
		if err := group.AddEndpoint(e.name, e.handle, micro.WithEndpointMetadata(e.metadata)); err != nil {
			return fmt.Errorf("serve counter.%s: %w", e.name, err)
		}
	}
	if err := nc.Flush(); err != nil {
		return fmt.Errorf("serve counter: %w", err)
	}
	fmt.Println("counter serves")
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	<-stop
	return nil
}

// late refuses a request that came after its deadline: its caller has given it up and may have acted on that (a). It
// reports whether it has refused.
func late(r micro.Request) bool {
	deadline, err := time.Parse(time.RFC3339Nano, r.Headers().Get("Pawl-Deadline"))
	if err == nil && time.Now().Before(deadline) {
		return false
	}
	_ = r.Error("503", "its deadline has passed, or it has none", nil) // the caller no longer listens
	return true
}

func (c *counter) read(r micro.Request) {
	if late(r) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = r.RespondJSON(answer{Total: c.total}) // a caller that does not receive it asks again
}

func (c *counter) add(r micro.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if late(r) {
		return
	}
	key := r.Headers().Get("Idempotency-Key")
	var params struct{ By int }
	if err := json.Unmarshal(r.Data(), &params); err != nil || key == "" {
		_ = r.Error("400", "by must be a number, and there must be a key", nil)
		return
	}
	given, known := c.answers[key]
	if given.refused {
		_ = r.Error("409", "this call was given up", nil)
		return
	}
	if !known { // the same key again has no second effect and gets the first answer (b)
		c.total += params.By
		given = answer{Total: c.total}
		c.answers[key] = given
	}
	_ = r.RespondJSON(given) // a caller that misses the answer calls the operation added
}

// added says what became of a call. Before it says failed it writes the key down as refused, so that
// the call cannot be carried out any more, however late it comes (c).
func (c *counter) added(r micro.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var asked struct{ IdempotencyKey string }
	if err := json.Unmarshal(r.Data(), &asked); err != nil || asked.IdempotencyKey == "" {
		_ = r.Error("400", "there must be a key", nil)
		return
	}
	given, known := c.answers[asked.IdempotencyKey]
	if known && !given.refused {
		_ = r.RespondJSON(map[string]any{"status": "applied", "result": given})
		return
	}
	c.answers[asked.IdempotencyKey] = answer{refused: true}
	_ = r.RespondJSON(map[string]any{"status": "failed"})
}
