package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
)

// TestLogThatFails: where the log fails in the middle, a stream says so and is cut off: a client that looks
// at transitions alone cannot take a part for the whole either.
func TestLogThatFails(t *testing.T) {
	t.Parallel()
	log := &failingLog{Log: memlog.New(memlog.Config{})}
	b := setupOn(t, log)
	b.deploy("shop", "send", eventlog.GrantAllow)
	log.fail.Store(true)
	req, err := http.NewRequestWithContext(t.Context(), "GET", b.http.URL+"/v1/log", nil)
	if err != nil {
		t.Fatal(err)
	}
	authorize(req)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(string(body), "id: 0:1\n") ||
		!strings.Contains(string(body), "event: problem\n") || !strings.HasSuffix(string(body), "\n\n") {
		t.Errorf("the stream ends with %v: %s", err, body)
	}
	var got []error
	for _, err := range b.client.Log(await(t), rpc.LogQuery{}) {
		got = append(got, err)
	}
	var p *rpc.Problem
	if len(got) != 3 || got[0] != nil || !errors.As(got[1], &p) || !errors.Is(got[2], rpc.ErrUnreachable) {
		t.Errorf("the client is told %v", got)
	}
}

// failingLog reads, once told to, one record and then fails.
type failingLog struct {
	eventlog.Log
	fail atomic.Bool
}

func (l *failingLog) Read(ctx context.Context, partition int, from uint64) iter.Seq2[eventlog.Record, error] {
	records := l.Log.Read(ctx, partition, from)
	if !l.fail.Load() {
		return records
	}
	return func(yield func(eventlog.Record, error) bool) {
		for record, err := range records {
			if yield(record, err) {
				yield(eventlog.Record{}, errors.New("the disk is gone"))
			}
			return
		}
	}
}

// TestDamagedLog: a record that cannot be read stops a page loudly, and a stream says so and goes on.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	log := memlog.New(memlog.Config{})
	b := setupOn(t, log, func(c *Config, _ *enginetest.Harness) { c.KeepAlive = time.Hour })
	b.deploy("shop", "send", eventlog.GrantAllow)
	before := b.last()
	log.PutRaw("broken", []byte("no transition"))
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)

	next := b.follow("?follow=true")
	for range before {
		next()
	}
	bad := next()
	if p := mustJSON(t, []byte(bad.data)); bad.event != "problem" || p["code"] != "log.damaged" ||
		bad.id != fmt.Sprintf("0:%d", before+1) {
		t.Errorf("got %+v", bad)
	}
	if v := decodeTransition(t, next().data); v.Kind != "workflow.paused" {
		t.Errorf("then %+v", v)
	}
	page := b.page("")
	if uint64(len(page.Items)) != before || page.Next == nil || *page.Next != fmt.Sprintf("0:%d", before+1) {
		t.Errorf("a page ends before it: %+v", page)
	}
	res, body := b.request("GET", "/v1/log?from="+*page.Next, "", "Accept", "application/json")
	if res.StatusCode != 500 || mustJSON(t, body)["code"] != "log.damaged" {
		t.Errorf("a page from there: %d %s", res.StatusCode, body)
	}
	var seen []string
	for raw, err := range b.client.Log(await(t), rpc.LogQuery{}) {
		var p *rpc.Problem
		switch {
		case errors.As(err, &p):
			seen = append(seen, p.Code)
		case err != nil:
			t.Fatal(err)
		default:
			seen = append(seen, decodeTransition(t, string(raw)).Kind)
		}
	}
	if n := len(seen); uint64(n) != before+2 || seen[n-2] != "log.damaged" || seen[n-1] != "workflow.paused" {
		t.Errorf("listed %v", seen)
	}
	// It is none of a workflow's business what is broken of another.
	next = b.follow("?follow=true&workflow=shop")
	for revision := uint64(1); revision <= before+1; revision++ {
		if f := next(); f.event != "" || decodeTransition(t, f.data).Revision != revision {
			t.Fatalf("of shop alone, at %d: %+v", revision, f)
		}
	}
	nc, _ := b.overNATS(0)
	from := fmt.Sprintf("0:%d", before+1)
	waiting := b.followPages(nc, from, "shop")
	if page := waiting(); len(page.Items) != 1 || page.Items[0].Kind != "workflow.paused" {
		t.Errorf("a page of shop alone: %+v", page)
	}
	log.PutRaw("broken", []byte("no transition either"))
	waiting = b.followPages(nc, fmt.Sprintf("0:%d", b.last()), "shop")
	b.do("resumeWorkflow", map[string]any{"workflow": "shop"}, nil)
	if page := waiting(); len(page.Items) != 1 || page.Items[0].Kind != "workflow.resumed" {
		t.Errorf("the next page of shop alone: %+v", page)
	}
	var v replay.Verification
	b.do("verifyLog", nil, &v)
	if v.OK || len(v.Problems) != 2 || !strings.Contains(v.Problems[0], "broken") {
		t.Errorf("verify: %+v", v)
	}
	if health := b.logHealth(); health.OK || !slices.Equal(health.Problems, v.Problems) {
		t.Errorf("diagnostics after verify: %+v", health)
	}
}
