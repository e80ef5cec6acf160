package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/feed"
	"github.com/pawl-run/pawl/projections/foldtest"
)

// feedSchemas are those of the AsyncAPI document.
type feedSchemas struct {
	t        *testing.T
	document map[string]any
	compiler *jsonschema.Compiler
}

func newFeedSchemas(t *testing.T) feedSchemas {
	t.Helper()
	text, err := DescribeFeed("v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	s := feedSchemas{t, parsed.(map[string]any), jsonschema.NewCompiler()}
	s.compiler.DefaultDraft(jsonschema.Draft7)
	s.compiler.AssertFormat()
	if err := s.compiler.AddResource("http://pawl.test/asyncapi.json", parsed); err != nil {
		t.Fatal(err)
	}
	return s
}

// validate holds a part of a message, headers or payload, against its schema.
func (s feedSchemas) validate(message, part string, value any) error {
	s.t.Helper()
	return s.schema(message, part).Validate(value)
}

func (s feedSchemas) schema(message, part string) *jsonschema.Schema {
	s.t.Helper()
	schema, err := s.compiler.Compile("http://pawl.test/asyncapi.json#/components/messages/" + message + "/" + part)
	if err != nil {
		s.t.Fatal(err)
	}
	return schema
}

// at is what stands in the document below the names.
func (s feedSchemas) at(path ...string) map[string]any {
	s.t.Helper()
	at := s.document
	for _, name := range path {
		below, ok := at[name].(map[string]any)
		if !ok {
			s.t.Fatalf("the document has no %v", path)
		}
		at = below
	}
	return at
}

// TestFeedDocumentIsComplete: each fact that is published has a message, with an example that fits. Its schemas
// refuse another version and an unknown field.
func TestFeedDocumentIsComplete(t *testing.T) {
	t.Parallel()
	s := newFeedSchemas(t)
	messages := s.at("components", "messages")
	for _, fact := range eventlog.FactTypes() {
		_, described := messages[string(fact)]
		if unpublished := eventlog.OfInstallation(fact); described == unpublished {
			t.Errorf("%s has a message: %v", fact, described)
		}
	}
	if got, want := keys(s.at("channels", "feed", "messages")), keys(messages); !sameNames(got, want) {
		t.Errorf("the channel has the messages %q, described are %q", got, want)
	}
	for name := range messages {
		message := s.at("components", "messages", name)
		if summary, _ := message["summary"].(string); summary == "" {
			t.Errorf("%s: nothing says what it means", name)
		}
		example := message["examples"].([]any)[0].(map[string]any)
		for _, part := range []string{"headers", "payload"} {
			value, there := example[part].(map[string]any)
			if !there && name != "log.unreadable" {
				t.Fatalf("%s: the example has no %s", name, part)
			}
			if !there {
				continue
			}
			if err := s.validate(name, part, value); err != nil {
				t.Errorf("%s: %s of the example: %v", name, part, err)
			}
			if part == "payload" {
				value["unheard-of"] = true
			} else {
				value["ce-type"] = "pawl." + name + ".v99"
			}
			if s.validate(name, part, value) == nil {
				t.Errorf("%s: its schema takes any %s", name, part)
			}
		}
	}
}

func sameNames(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// TestRecordedFactsFitTheirSchemas: whatever the log holds of a fact, as it is read back, is as the document says.
func TestRecordedFactsFitTheirSchemas(t *testing.T) {
	t.Parallel()
	s := newFeedSchemas(t)
	schemas := map[eventlog.FactType]*jsonschema.Schema{}
	for _, fact := range feed.Published() {
		schemas[fact] = s.schema(string(fact), "payload")
	}
	log := foldtest.NewLog(11)
	histories := []*foldtest.History{foldtest.NewHistory(log, "plain"), foldtest.NewConcurrentHistory(log, "concurrent")}
	met := map[eventlog.FactType]bool{}
	fits := func(fact eventlog.Fact) {
		t.Helper()
		text, err := json.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		met[fact.FactType()] = true
		if err := schemas[fact.FactType()].Validate(value); err != nil {
			t.Fatalf("%s: %v\n%s", fact.FactType(), err, text)
		}
	}
	for range 1000 {
		for _, history := range histories {
			record, err := history.Step()
			if err != nil {
				t.Fatal(err)
			}
			for _, fact := range record.Facts {
				fits(fact)
			}
		}
	}
	for _, fact := range []eventlog.Fact{ // which histories do not make
		&eventlog.EventSkipRequested{Topic: "in", MessageID: "m"}, &eventlog.HandlerDirtied{Handler: "work"},
		&eventlog.WorkflowArchived{}, &eventlog.LossAccepted{Detail: "two records"},
	} {
		if met[fact.FactType()] {
			t.Errorf("histories have %s: leave it out here", fact.FactType())
		}
		fits(fact)
	}
	for _, fact := range feed.Published() {
		if !met[fact] {
			t.Errorf("%s was never met", fact)
		}
	}
}

// TestFeedFitsItsDocument follows an engine: what it publishes is as the document says.
func TestFeedFitsItsDocument(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.push("shop", "a", "b")
	b.engine.Rest("shop")
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	total, types := 0, map[eventlog.FactType]bool{}
	for r, err := range b.bench.Log.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		total += len(r.Facts)
		for _, f := range r.Facts {
			types[f.FactType()] = true
		}
	}
	if len(types) < 15 {
		t.Errorf("the engine recorded only %v", types)
	}
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	published, err := nc.SubscribeSync("pawl.feed.>")
	if err != nil {
		t.Fatal(err)
	}
	feeder, err := feed.New(feed.Config{Log: b.bench.Log, Conn: nc, Installation: "TEST", MaxBytes: 2 * feed.LeastBytes})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		feeder.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	s := newFeedSchemas(t)
	for range total {
		m, err := published.NextMsgWithContext(await(t))
		if err != nil {
			t.Fatal(err)
		}
		headers := map[string]any{}
		for name := range m.Header {
			headers[name] = m.Header.Get(name)
		}
		name := strings.TrimPrefix(m.Subject, "pawl.feed.shop.")
		body, err := jsonschema.UnmarshalJSON(bytes.NewReader(m.Data))
		if err != nil {
			t.Fatal(err)
		}
		for part, value := range map[string]any{"headers": headers, "payload": body} {
			if err := s.validate(name, part, value); err != nil {
				t.Errorf("%s: %s: %v\n%s", name, part, err, m.Data)
			}
		}
	}
}
