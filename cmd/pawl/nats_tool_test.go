package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// toolsMain is the program pawl-tools: the services gmail and sheets in a process of their own. It
// keeps what a connector must keep, and misbehaves once, as told.
func toolsMain() {
	var x toolProgram
	var mails int
	address := flag.String("url", "", "NATS")
	serve := flag.String("serve", "search,appendRow,rowStatus,countRows", "endpoints")
	timeout := flag.String("timeout", "30s", "of appendRow")
	flag.StringVar(&x.book.path, "book", "", "the sheet")
	flag.IntVar(&mails, "mails", 1, "in the inbox")
	flag.StringVar(&x.once, "once", "", "how the first appendRow misbehaves")
	flag.Parse()
	nc, err := nats.Connect(*address, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	check(err)
	x.held, x.release, x.met = make(map[string]bool), make(chan struct{}), make(chan struct{})
	if x.once == "" {
		close(x.met)
	}
	endpoints := map[string]struct {
		service string
		handle  micro.HandlerFunc
		meta    map[string]string
	}{
		"search": {"gmail", func(r micro.Request) {
			check(r.RespondJSON(inbox(mails)))
		}, map[string]string{"pawl.kind": "list"}},
		"appendRow": {"sheets", x.appendRow, map[string]string{"pawl.kind": "mutate", "pawl.reconcile": "rowStatus",
			"pawl.timeout": *timeout,
			"pawl.schema":  `{"type": "object", "required": ["spreadsheetId", "values"]}`, "pawl.summary": "Append a row."}},
		"rowStatus": {"sheets", x.rowStatus, map[string]string{"pawl.kind": "reconcile"}},
		"countRows": {"sheets", func(r micro.Request) {
			check(r.RespondJSON(len(x.book.rows())))
		}, map[string]string{"pawl.kind": "list"}},
		"odd": {"oddities", nil, map[string]string{"pawl.kind": "perhaps"}},
	}
	running := make(map[string]micro.Service)
	for _, name := range strings.Split(*serve, ",") {
		e := endpoints[name]
		if running[e.service] == nil {
			running[e.service], err = micro.AddService(nc, micro.Config{Name: e.service, Version: "1.0.0"})
			check(err)
		}
		check(running[e.service].AddGroup("pawl.tool."+e.service).AddEndpoint(name, e.handle,
			micro.WithEndpointMetadata(e.meta)))
	}
	check(nc.Flush())
	say("serving")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		close(x.release)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "tool:", err)
		os.Exit(1)
	}
}

// say prints one line, whole.
func say(format string, args ...any) {
	_, err := os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n")
	check(err)
}

func inbox(mails int) []map[string]string {
	list := []map[string]string{}
	for i := range mails {
		list = append(list, map[string]string{"id": fmt.Sprintf("m%d", i), "from": fmt.Sprintf("a%d@example.org", i),
			"subject": fmt.Sprintf("Mail %d", i)})
	}
	return list
}

type toolProgram struct {
	book book

	mu      sync.Mutex
	once    string
	held    map[string]bool // requests that are under way
	release chan struct{}
	// met is closed once the first appendRow has misbehaved as told. Until then no question is answered: on a busy
	// machine the engine may ask about a call before the call has come.
	met chan struct{}
}

// misbehaves says how this request is to be treated, once.
func (x *toolProgram) misbehaves(here ...string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, how := range here {
		if x.once == how {
			x.once = ""
			return how
		}
	}
	return ""
}

func (x *toolProgram) hold(key string, hold bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.held[key] = hold
}

func (x *toolProgram) holds(key string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.held[key]
}

func (x *toolProgram) appendRow(r micro.Request) {
	key := r.Headers().Get("Idempotency-Key")
	deadline, err := time.Parse(time.RFC3339Nano, r.Headers().Get("Pawl-Deadline"))
	check(err)
	how := x.misbehaves("die before", "die after", "late", "garbage")
	if how == "" && time.Now().After(deadline) { // a misbehaviour does not depend on when the call comes
		say("refused, too late: %s", key)
		check(r.Error("503", "its deadline has passed", nil))
		return
	}
	var p struct{ Values []string }
	check(json.Unmarshal(r.Data(), &p))
	switch how {
	case "die before":
		die()
	case "late":
		x.hold(key, true)
		close(x.met)
		say("holding")
		go func() { // the others go on
			<-x.release
			x.write(r, key, p.Values, how)
			x.hold(key, false)
		}()
	default:
		x.write(r, key, p.Values, how)
	}
}

func (x *toolProgram) write(r micro.Request, key string, values []string, how string) {
	row := x.book.put(key, values)
	switch {
	case row.Refused:
		say("refused, given up: %s", key)
		check(r.Error("409", "it was given up", nil))
	case how == "die after":
		die()
	case how == "garbage":
		x.mu.Lock()
		x.once = "garbled status"
		x.mu.Unlock()
		close(x.met)
		check(r.Respond([]byte("<html>It works!</html>")))
	default:
		say("row %d: %s", row.Row, key)
		check(r.RespondJSON(map[string]int{"rowId": row.Row}))
	}
}

// rowStatus says what became of a call. What it says has failed can never happen any more.
func (x *toolProgram) rowStatus(r micro.Request) {
	var q struct{ IdempotencyKey string }
	check(json.Unmarshal(r.Data(), &q))
	<-x.met
	if x.misbehaves("garbled status") != "" {
		say("garbled status")
		check(r.Respond([]byte(`{"status": "perhaps"}`)))
		return
	}
	if x.holds(q.IdempotencyKey) {
		check(r.RespondJSON(map[string]string{"status": "retry"}))
		return
	}
	row := x.book.put(q.IdempotencyKey, nil)
	if row.Refused {
		say("failed: %s", q.IdempotencyKey)
		check(r.RespondJSON(map[string]string{"status": "failed"}))
		return
	}
	say("applied: %s", q.IdempotencyKey)
	check(r.RespondJSON(map[string]any{"status": "applied", "result": map[string]int{"rowId": row.Row}}))
}

// die is a kill -9.
func die() {
	p, err := os.FindProcess(os.Getpid())
	check(err)
	check(p.Kill())
	select {}
}

// book is a sheet with a ledger of keys in a file, which several processes share.
type book struct{ path string }

type bookRow struct {
	Key     string
	Row     int
	Values  []string
	Refused bool
}

// put writes a row, or that its key is given up if there are no values, unless the key has been
// written before: then it answers what was.
func (b *book) put(key string, values []string) bookRow {
	lock := flock.New(b.path + ".lock")
	check(lock.Lock())
	defer func() { check(lock.Unlock()) }()
	row := bookRow{Key: key, Row: 1, Values: values, Refused: values == nil}
	for _, before := range b.read() {
		if before.Key == key {
			return before
		}
		if !before.Refused {
			row.Row++
		}
	}
	line, err := json.Marshal(row)
	check(err)
	f, err := os.OpenFile(b.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	check(err)
	_, err = f.Write(append(line, '\n'))
	check(errors.Join(err, f.Sync(), f.Close()))
	return row
}

func (b *book) read() []bookRow {
	text, err := os.ReadFile(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	check(err)
	var rows []bookRow
	for line := range strings.Lines(string(text)) {
		var row bookRow
		check(json.Unmarshal([]byte(line), &row))
		rows = append(rows, row)
	}
	return rows
}

// rows are those that were really written.
func (b *book) rows() []bookRow {
	rows := []bookRow{}
	for _, row := range b.read() {
		if !row.Refused {
			rows = append(rows, row)
		}
	}
	return rows
}
