package act

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Push brings events in from outside.
type Push struct {
	client.Flags
	Name    string `arg:"" name:"workflow" help:"The workflow."`
	Topic   string `arg:"" help:"The topic."`
	ID      string `name:"id" placeholder:"ID" help:"The event's message id: the same id again is the same event. JSON is then the payload."`
	Title   string `placeholder:"TITLE" help:"What the event is about, for people; else its id."`
	IDFrom  string `name:"id-from" placeholder:"hash|path" enum:",hash,path" default:"" help:"Take each JSON document as a payload, and make its message id. With hash, payloads with the same content are the same event: the order of members does not count, numbers count as they are written. With path, the id is the member that --id-path names."`
	IDPath  string `name:"id-path" placeholder:"A.B" help:"The member of each payload that is its message id, as in customer.id."`
	Verbose bool   `short:"v" help:"Print a line for each event, however many they are."`
	Events  string `arg:"" name:"json|@file|-" help:"The payload, with --id; without it events: {\"messageId\": …, \"title\": …, \"payload\": …}, or many, one per line. @FILE reads them from a file, - from standard input."`
}

// tellEvery is how often a long push says how far it is.
const tellEvery = 2 * time.Second

// One request is one transition: all of its events or none. Events that are pushed in several requests are
// recorded up to the one that fails.
const (
	maxPushed      = 500
	maxPushedBytes = 1 << 20
)

// pushed is an event in the form of the interface.
type pushed struct {
	MessageID string          `json:"messageId"`
	Title     string          `json:"title"`
	Payload   json.RawMessage `json:"payload"`
}

// Run pushes the events and prints how many there were. If they are few, it prints for each its id, whether it was
// created or updated, and its status.
func (c *Push) Run(engine *client.Finder, screen term.Screen) (err error) {
	if c.Title != "" && c.ID == "" {
		return exit.Misconfigured("give --id too; without it each event names its own messageId and title",
			"--title belongs to --id")
	}
	if err := c.checkIDs(); err != nil {
		return err
	}
	from, err := c.open(screen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	done, told := 0, time.Now()
	report := &pushReport{screen: screen, json: c.JSON, all: c.Verbose}
	defer func() { err = errors.Join(err, report.close(err == nil)) }()
	send := func(events []json.RawMessage) error {
		if len(events) == 0 {
			return nil
		}
		var answers []json.RawMessage
		if err := connected.Call("pushEvents", map[string]any{"workflow": c.Name, "topic": c.Topic, "events": events},
			&answers); err != nil {
			return err
		}
		done += len(events)
		if now := time.Now(); now.Sub(told) >= tellEvery {
			told = now
			fmt.Fprintf(screen.Err, "pawl: %s recorded so far\n", wasWere(done, "event"))
		}
		return report.add(answers)
	}
	if err := c.batches(from, send); err != nil {
		if done > 0 {
			fmt.Fprintf(screen.Err, "pawl: the first %s recorded; pushed again they are the same events\n",
				wasWere(done, "event"))
		}
		return err
	}
	return nil
}

func wasWere(n int, noun string) string {
	if n == 1 {
		return term.Plural(n, noun) + " was"
	}
	return term.Plural(n, noun) + " were"
}

// open opens the source of the JSON.
func (c *Push) open(screen term.Screen) (io.ReadCloser, error) {
	path, named := strings.CutPrefix(c.Events, "@")
	switch {
	case c.Events == "-":
		return io.NopCloser(screen.In), nil
	case !named:
		return io.NopCloser(strings.NewReader(c.Events)), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, exit.Misconfigured("", "read the events: %v", err)
	}
	return file, nil
}

// batches reads JSON documents, one after the other, and sends their events in batches that each fit a
// transition.
func (c *Push) batches(from io.Reader, send func([]json.RawMessage) error) error {
	documents := newDocuments(from)
	var batch []json.RawMessage
	size := 0
	for {
		document, at, err := documents.next()
		if errors.Is(err, io.EOF) {
			if at.n == 1 {
				return exit.Misconfigured("pawl push --help says what it takes", "there is no JSON to push")
			}
			return send(batch)
		}
		if err != nil {
			err = exit.Misconfigured(`quote it for your shell: '{"amount": 3}'; many documents stand one a line`,
				"%s is no JSON: %v", at, err)
			return cmp.Or(send(batch), err)
		}
		events, err := c.events(document, at)
		if err != nil {
			return cmp.Or(send(batch), err)
		}
		for _, event := range events {
			if len(batch) > 0 && (len(batch) == maxPushed || size+len(event) > maxPushedBytes) {
				if err := send(batch); err != nil {
					return err
				}
				batch, size = nil, 0
			}
			batch, size = append(batch, event), size+len(event)
		}
	}
}

// events are the events of one document: with --id, the event whose payload it is; else the one event or the array of
// events that it holds.
func (c *Push) events(document json.RawMessage, at documentPlace) ([]json.RawMessage, error) {
	if c.IDFrom != "" {
		event, err := c.identified(document, at)
		return []json.RawMessage{event}, err
	}
	if c.ID != "" {
		if at.n > 1 {
			return nil, exit.Misconfigured("without --id each document is an event with a messageId of its own",
				"--id names one event, and there is a second JSON document")
		}
		event, err := json.Marshal(pushed{MessageID: c.ID, Title: cmp.Or(c.Title, c.ID), Payload: document})
		return []json.RawMessage{event}, err
	}
	events := []json.RawMessage{document}
	if bytes.HasPrefix(document, []byte("[")) {
		events = nil // without a slice of its own the array would be written over the document that it is read from
		if err := json.Unmarshal(document, &events); err != nil {
			return nil, fmt.Errorf("read %s: %w", at, err)
		}
		if len(events) == 0 {
			return nil, exit.Misconfigured("an array holds at least one event", "%s is an empty array", at)
		}
	}
	for _, event := range events {
		var known struct{ MessageID *json.RawMessage }
		if json.Unmarshal(event, &known) != nil || known.MessageID == nil {
			return nil, exit.Misconfigured(`name it with --id ID, and JSON is its payload; or push {"messageId": "…", `+
				`"title": "…", "payload": …}`,
				"an event of %s has no messageId", at)
		}
	}
	return events, nil
}
