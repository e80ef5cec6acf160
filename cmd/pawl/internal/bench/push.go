package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// worldStage is what the other process measured in one stage.
type worldStage struct {
	Items    int           `json:"items"`
	Elapsed  time.Duration `json:"elapsed"`
	P50, P99 time.Duration
	Effects  int `json:"effects"` // idempotency keys received in the stage
	Twice    int `json:"twice"`   // keys received more than once, ever
	Feed     feedStage
}

// pushers push items, each one at a time.
type pushers struct {
	stdout   io.Writer
	sink     *sink
	follower *follower
	pace     *rate.Limiter // of all pushes together
	finished []chan struct{}
	round    int
}

// start starts n pushers, which all push into the workflow or, if it is empty, each into one of its own.
func (p *pushers) start(ctx context.Context, url, token, workflow string, n int, d time.Duration) {
	p.round++
	p.finished = make([]chan struct{}, n)
	for i := range p.finished {
		p.finished[i] = make(chan struct{}, 4)
	}
	go p.run(ctx, url, token, workflow, d, p.finished, p.round)
}

func (p *pushers) run(ctx context.Context, url, token, workflow string, d time.Duration,
	finished []chan struct{}, round int) {
	before, _ := p.sink.counts()
	p.follower.take()
	began := time.Now()
	var mu sync.Mutex
	var took []time.Duration
	var failure error
	var wg sync.WaitGroup
	for i := range finished {
		wg.Go(func() {
			var own []time.Duration
			into := cmp.Or(workflow, benchName(i))
			c, err := dial(ctx, url, token)
			if err == nil {
				defer func() { _ = c.Close() }()
			}
			for n := 0; err == nil && time.Since(began) < d; n++ {
				if err = p.pace.Wait(ctx); err != nil {
					break
				}
				start := time.Now()
				if err = c.push(into, i, itemID(round, i, n)); err == nil {
					<-finished[i]
					own = append(own, time.Since(start))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
			failure = errors.Join(failure, err)
		})
	}
	wg.Wait()
	result := worldStage{Items: len(took), Elapsed: time.Since(began)}
	after, twice := p.sink.counts()
	result.Effects, result.Twice, result.Feed = after-before, twice, p.follower.take()
	slices.Sort(took)
	if len(took) > 0 {
		result.P50, result.P99 = took[len(took)/2], took[len(took)*99/100]
	}
	if failure != nil {
		fmt.Fprintln(p.stdout, strings.ReplaceAll(failure.Error(), "\n", "; "))
		return
	}
	_ = json.NewEncoder(p.stdout).Encode(result)
}

// itemID names an item by the pusher that waits for it.
func itemID(round, pusher, n int) string { return fmt.Sprintf("%d-%d-%d", round, pusher, n) }

// pusherOf is the pusher of an item.
func pusherOf(id string) string {
	_, rest, _ := strings.Cut(id, "-")
	pusher, _, _ := strings.Cut(rest, "-")
	return pusher
}

// conn is a connection of one pusher. It replaces http.Client, since it needs far less processor time, of which the
// measured engine would get less.
type conn struct {
	net.Conn
	host   string
	token  string
	answer *bufio.Reader
}

func dial(ctx context.Context, address, token string) (*conn, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	tcp, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: tcp, host: u.Host, token: token, answer: bufio.NewReader(tcp)}, nil
}

// push sends an order of about 470 bytes.
func (c *conn) push(workflow string, i int, id string) error {
	var body, request bytes.Buffer
	fmt.Fprintf(&body, `{"messageId":"%s","title":"Order %s of customer %d",`+
		`"payload":{"id":"%s","placedAt":"2026-03-01T12:00:00Z",`+
		`"customer":{"name":"Customer Number %d","email":"customer%d@example.com",`+
		`"street":"Long Street 12","city":"Exampletown","country":"DE"},`+
		`"items":[{"sku":"A-1001","name":"Notebook, ruled","quantity":2,"price":4.5},`+
		`{"sku":"B-2002","name":"Fountain pen, blue","quantity":1,"price":29.9},`+
		`{"sku":"C-3003","name":"Ink cartridges","quantity":3,"price":3.2}],"comment":"please leave at the door"}}`, id, id,
		i, id, i, i)
	fmt.Fprintf(&request,
		"POST /v1/workflows/%s/topics/order/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		workflow, c.host, c.token, body.Len())
	request.Write(body.Bytes())
	if _, err := c.Write(request.Bytes()); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.answer, nil)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("push was answered %d: %s", resp.StatusCode, answer)
	}
	return nil
}
