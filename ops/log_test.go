package ops

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// frame is one server-sent event.
type frame struct{ id, event, data string }

// follow opens a stream and returns a function that waits for its next event, "" at its end.
func (b *bundle) follow(query string, headers ...string) func() frame {
	b.t.Helper()
	ctx, cancel := context.WithCancel(await(b.t))
	b.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", b.http.URL+"/v1/log"+query, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	authorize(req)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		b.t.Fatalf("%d %s", res.StatusCode, res.Header)
	}
	r := bufio.NewReader(res.Body)
	return func() frame {
		var f frame
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				if ctx.Err() != nil {
					b.t.Fatal("the stream sends nothing")
				}
				return frame{}
			}
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch name {
			case "id":
				f.id = value
			case "event":
				f.event = value
			case "data":
				f.data += value
			case "":
				if f.data != "" || f.event != "" {
					return f
				}
				// the end of a comment
			}
		}
	}
}

type transition struct {
	Partition int
	Seq       uint64
	Workflow  string
	Revision  uint64
	Kind      string
	Events    []struct {
		Type    string
		Version int
		Data    json.RawMessage
	}
}

type transitionPage struct {
	Items []transition
	Next  *string
}

// page reads a page of the log.
func (b *bundle) page(query string) transitionPage {
	b.t.Helper()
	res, body := b.request("GET", "/v1/log"+query, "", "Accept", "application/json")
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json" {
		b.t.Fatalf("%s: %d %s", query, res.StatusCode, body)
	}
	var page transitionPage
	if err := json.Unmarshal(body, &page); err != nil {
		b.t.Fatalf("%v: %s", err, body)
	}
	return page
}

func decodeTransition(t *testing.T, text string) transition {
	t.Helper()
	var v transition
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// TestLogStream: a follower gets everything in order, live, and goes on where it was cut off.
func TestLogStream(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	next := b.follow("?follow=true")
	var last frame
	for seq := uint64(1); seq <= b.last(); seq++ {
		last = next()
		v := decodeTransition(t, last.data)
		if v.Seq != seq || last.id != fmt.Sprintf("0:%d", seq) || v.Workflow != "shop" || len(v.Events) == 0 ||
			v.Events[0].Version != 1 {
			t.Fatalf("at %d: %+v", seq, last)
		}
	}
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	live := next()
	if v := decodeTransition(t, live.data); v.Kind != "workflow.paused" {
		t.Errorf("live: %+v", live)
	}
	b.do("resumeWorkflow", map[string]any{"workflow": "shop"}, nil)
	again := b.follow("?follow=true", "Last-Event-ID", last.id)
	if got := again(); got != live {
		t.Errorf("after %s came %+v, want %+v", last.id, got, live)
	}
	// Without follow too, whatever the caller says it takes, and to the end of the log.
	for _, accept := range []string{"", "*/*", "text/event-stream", "application/json, text/event-stream", "text/html"} {
		from := b.follow("?from="+live.id, "Accept", accept)
		if got := from(); got != live {
			t.Errorf("from %s came %+v", live.id, got)
		}
		resumed := from()
		if got := decodeTransition(t, resumed.data); got.Kind != "workflow.resumed" {
			t.Errorf("then %+v", got)
		}
		if got := from(); got != (frame{}) {
			t.Errorf("without follow the stream goes on: %+v", got)
		}
		rest := b.follow("", "Accept", accept, "Last-Event-ID", live.id)
		if got := rest(); got != resumed {
			t.Errorf("after %s came %+v, want %+v", live.id, got, resumed)
		}
	}
	if got := b.follow("?follow=true", "Accept", "application/json")(); got.id != "0:1" {
		t.Errorf("the follower got %+v", got)
	}
}

// TestLogTypes: a reader of some kinds of facts is sent whole transitions that hold one of them, and no others.
func TestLogTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.push("shop", "a", "b")
	b.engine.Rest("shop")
	const types = "?type=mutation.started,%20run.committed"
	var want []transition
	for _, v := range b.page("").Items {
		for _, f := range v.Events {
			if f.Type == "mutation.started" || f.Type == "run.committed" {
				want = append(want, v)
				break
			}
		}
	}
	if got := b.page(types).Items; len(want) < 4 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d of %d transitions came:\n%+v\nwant\n%+v", len(got), len(want), got, want)
	}
	if got := b.page(types + "&workflow=shop&tail=3").Items; !reflect.DeepEqual(got, want[len(want)-3:]) {
		t.Errorf("the newest three are\n%+v\nwant\n%+v", got, want[len(want)-3:])
	}
	page := b.page(types + "&limit=1")
	if page.Next == nil || !reflect.DeepEqual(page.Items, want[:1]) {
		t.Fatalf("the first is %+v", page)
	}
	if got := b.page(types + "&from=" + *page.Next).Items; !reflect.DeepEqual(got, want[1:]) {
		t.Errorf("the next page is\n%+v\nwant\n%+v", got, want[1:])
	}
	next := b.follow(types + ",workflow.resumed&follow=true")
	for _, v := range want {
		if got := decodeTransition(t, next().data); !reflect.DeepEqual(got, v) {
			t.Fatalf("the stream has\n%+v\nwant\n%+v", got, v)
		}
	}
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	b.do("resumeWorkflow", map[string]any{"workflow": "shop"}, nil)
	if got := decodeTransition(t, next().data); got.Kind != "workflow.resumed" {
		t.Errorf("live came %+v", got)
	}
	if got := b.page("?type=event.updated").Items; len(got) != 0 { // an older name of a type
		t.Errorf("%+v", got)
	}
	var group []transition // all that have a fact of mutations
	for _, v := range b.page("").Items {
		for _, f := range v.Events {
			if strings.HasPrefix(f.Type, "mutation.") {
				group = append(group, v)
				break
			}
		}
	}
	if got := b.page("?type=mutation.*").Items; len(group) < 4 || !reflect.DeepEqual(got, group) {
		t.Errorf("of mutations are %d transitions, want %d", len(got), len(group))
	}
	if res, _ := b.request("GET", "/v1/log?type=mutations.*", "", "Accept", "application/json"); res.StatusCode != 400 {
		t.Errorf("a group of none: %d", res.StatusCode)
	}
	res, body := b.request("GET", "/v1/log?type=run.commited", "", "Accept", "application/json")
	if res.StatusCode != 400 || !strings.Contains(string(body), `"type.unknown"`) ||
		!strings.Contains(string(body), "run.committed") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

// TestLogPartitions: all partitions in one answer, and the filters.
func TestLogPartitions(t *testing.T) {
	t.Parallel()
	b := setupOn(t, memlog.New(memlog.Config{Partitions: 4}))
	names := []string{"one", "two", "three", "four", "five"}
	for _, name := range names {
		b.deploy(name, "send", eventlog.GrantAllow)
		b.push(name, "a")
		b.engine.Rest(eventlog.WorkflowName(name))
	}
	var all []transition
	listed := b.follow("")
	for f := listed(); f != (frame{}); f = listed() {
		all = append(all, decodeTransition(t, f.data))
	}
	total := uint64(0)
	for p := range 4 {
		last, err := b.bench.Log.Last(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		total += last
	}
	if uint64(len(all)) != total {
		t.Errorf("%d transitions, the log has %d", len(all), total)
	}
	seen := map[string]uint64{}
	for _, v := range all {
		if v.Revision != seen[v.Workflow]+1 {
			t.Errorf("%s: revision %d after %d", v.Workflow, v.Revision, seen[v.Workflow])
		}
		seen[v.Workflow] = v.Revision
	}
	if len(seen) != len(names) {
		t.Errorf("workflows: %v", seen)
	}
	var three []transition
	listed = b.follow("?workflow=three")
	for f := listed(); f != (frame{}); f = listed() {
		three = append(three, decodeTransition(t, f.data))
	}
	if uint64(len(three)) != seen["three"] || slices.ContainsFunc(three, func(v transition) bool {
		return v.Workflow != "three"
	}) {
		t.Errorf("of workflow three: %+v", three)
	}
	// The newest so many are the end of the whole, also behind a position and of one workflow.
	for _, n := range []int{1, 2, 7, len(all) - 1, len(all), len(all) + 1, 1000} {
		var newest []transition
		listed = b.follow("?tail=" + strconv.Itoa(n))
		for f := listed(); f != (frame{}); f = listed() {
			newest = append(newest, decodeTransition(t, f.data))
		}
		if want := all[max(len(all)-n, 0):]; !reflect.DeepEqual(newest, want) {
			t.Errorf("the newest %d: %d, want %d:\n%+v\nwant\n%+v", n, len(newest), len(want), newest, want)
		}
		want := three[max(len(three)-n, 0):]
		if page := b.page("?workflow=three&tail=" + strconv.Itoa(n)); !reflect.DeepEqual(page.Items, want) {
			t.Errorf("the newest %d of workflow three: %+v", n, page)
		}
		want = three[max(len(three)-n, 1):]
		behind := fmt.Sprintf("&from=%d:%d", three[1].Partition, three[1].Seq)
		if page := b.page("?workflow=three&tail=" + strconv.Itoa(n) + behind); !reflect.DeepEqual(page.Items, want) {
			t.Errorf("the newest %d of workflow three behind its first: %+v", n, page)
		}
	}
	if got := b.follow("?from=0:99999,1:99999,2:99999,3:99999")(); got != (frame{}) {
		t.Errorf("beyond the end: %+v", got)
	}
	// In pages of five, nothing is missed or repeated.
	var paged []transition
	for from, last := "", false; !last; {
		page := b.page("?limit=5&from=" + from)
		paged = append(paged, page.Items...)
		if last = page.Next == nil; !last {
			from = *page.Next
		}
		if len(page.Items) != 5 && !last || len(page.Items) == 0 {
			t.Fatalf("a page of %d", len(page.Items))
		}
	}
	if !reflect.DeepEqual(paged, all) {
		t.Errorf("%d transitions in pages, %d in one stream", len(paged), len(all))
	}
	if page := b.page("?workflow=three&limit=" + strconv.Itoa(len(three))); !reflect.DeepEqual(page.Items, three) ||
		page.Next != nil {
		t.Errorf("workflow three in a page: %+v", page)
	}
	// A reader that follows all partitions can be cut off anywhere and misses and repeats nothing.
	next := b.follow("?follow=true")
	var got []string
	id := ""
	for n := range len(all) {
		if n == len(all)/2 {
			next = b.follow("?follow=true", "Last-Event-ID", id)
		}
		f := next()
		id = f.id
		v := decodeTransition(t, f.data)
		got = append(got, fmt.Sprintf("%d:%d", v.Partition, v.Seq))
	}
	slices.Sort(got)
	if len(slices.Compact(got)) != len(all) {
		t.Errorf("%d different transitions of %d", len(slices.Compact(got)), len(all))
	}
	// One workflow, live.
	two := b.follow(fmt.Sprintf("?follow=true&workflow=two&limit=%d", seen["two"]+1))
	b.push("one", "b")
	b.push("two", "b")
	for revision := uint64(1); revision <= seen["two"]+1; revision++ {
		if v := decodeTransition(t, two().data); v.Workflow != "two" || v.Revision != revision {
			t.Errorf("revision %d: %+v", revision, v)
		}
	}
	if got := two(); got != (frame{}) {
		t.Errorf("beyond the limit: %+v", got)
	}
}

// TestLogEndsWithServer: a stream ends when the server stops, and keeps quiet readers connected.
func TestLogEndsWithServer(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config, _ *enginetest.Harness) { c.KeepAlive = time.Millisecond })
	next := b.follow("?follow=true")
	b.server.Close()
	if got := next(); got != (frame{}) {
		t.Errorf("got %+v", got)
	}
}

// TestLogIsNoPart: a stream to the end of the log that is cut off does not end like a whole one.
func TestLogIsNoPart(t *testing.T) {
	t.Parallel()
	log := &stallingLog{Log: memlog.New(memlog.Config{}), reached: make(chan struct{})}
	b := setupOn(t, log)
	b.deploy("shop", "send", eventlog.GrantAllow)
	go func() {
		<-log.reached
		b.server.Close()
	}()
	log.stall.Store(true)
	var end error
	n := 0
	for raw, err := range b.client.Log(await(t), rpc.LogQuery{}) {
		if end = err; raw != nil {
			n++
		}
	}
	if !errors.Is(end, rpc.ErrUnreachable) || n != 1 {
		t.Errorf("%d transitions, then %v", n, end)
	}
}

// stallingLog reads, once told to, one record and then nothing until the reader gives up.
type stallingLog struct {
	eventlog.Log
	stall   atomic.Bool
	reached chan struct{}
}

func (l *stallingLog) Read(ctx context.Context, partition int, from uint64) iter.Seq2[eventlog.Record, error] {
	records := l.Log.Read(ctx, partition, from)
	if !l.stall.Load() {
		return records
	}
	return func(yield func(eventlog.Record, error) bool) {
		for record, err := range records {
			if !yield(record, err) {
				return
			}
			close(l.reached)
			<-ctx.Done()
			yield(eventlog.Record{}, ctx.Err())
			return
		}
	}
}

// TestClientLog: the client's iterator, listing and following, is the same over HTTP and over NATS.
func TestClientLog(t *testing.T) {
	for name, by := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			by(b)
			clientLog(t, b)
		})
	}
}

func clientLog(t *testing.T, b *bundle) {
	b.deploy("shop", "send", eventlog.GrantAllow)
	var listed []uint64
	for raw, err := range b.client.Log(await(t), rpc.LogQuery{Workflow: "shop"}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, decodeTransition(t, string(raw)).Seq)
	}
	if uint64(len(listed)) != b.last() {
		t.Errorf("listed %v", listed)
	}
	seen := 0
	for raw, err := range b.client.Log(await(t), rpc.LogQuery{Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == len(listed) {
			b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
		}
		if decodeTransition(t, string(raw)).Kind == "workflow.paused" {
			break
		}
	}
	if seen != len(listed)+1 {
		t.Errorf("followed %d", seen)
	}
	var newest []uint64
	for raw, err := range b.client.Log(await(t), rpc.LogQuery{Tail: 2, Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		newest = append(newest, decodeTransition(t, string(raw)).Seq)
		if len(newest) == 2 {
			b.do("resumeWorkflow", map[string]any{"workflow": "shop"}, nil)
		}
		if len(newest) == 3 {
			break
		}
	}
	if end := listed[len(listed)-1]; !slices.Equal(newest, []uint64{end, end + 1, end + 2}) {
		t.Errorf("the newest two, and what comes after them: %v, of %v", newest, listed)
	}
	for _, err := range b.client.Log(await(t), rpc.LogQuery{From: "x"}) {
		var p *rpc.Problem
		if !errors.As(err, &p) || p.Code != "position.invalid" {
			t.Errorf("bad position: %v", err)
		}
	}
	b.server.Close()
	var end error
	for _, end = range b.client.Log(await(t), rpc.LogQuery{Follow: true}) {
	}
	if !errors.Is(end, rpc.ErrUnreachable) {
		t.Errorf("a stopping engine ends the stream with %v", end)
	}
}
