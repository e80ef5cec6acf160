package imap_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/imap"
	"github.com/pawl-run/pawl/engine/connector/imap/imaptest"
	"github.com/pawl-run/pawl/engine/connector/mailparse"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	password = "pl@nted s3cret"
	// parsing makes the program of the tests one that takes mails apart.
	parsing = "parse-mail"
)

// No call leaves a connection or the work on it behind.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == parsing {
		if err := mailparse.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// box is a connector on a server.
type box struct {
	*testing.T
	r *connector.Registry
}

func open(t *testing.T, config imap.Config) *box {
	t.Helper()
	config.Parser = func() *exec.Cmd { return exec.Command(os.Args[0], parsing) }
	config.Logger = slog.New(slog.DiscardHandler)
	if config.Username == "" {
		config.Username, config.Password = imaptest.Username, password
	}
	c, err := imap.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := connector.NewRegistry(c)
	if err != nil {
		t.Fatal(err)
	}
	return &box{t, r}
}

// mail is what the tests look at of a mail.
type mail struct {
	ID, MessageID, From, FromAddress, Subject, Text, Error string
	To, Cc, Flags                                          []string
	Date, Received                                         *string
	Size                                                   int64
	Malformed, Truncated                                   bool
	Attachments                                            []struct {
		Filename, ContentType string
		Size                  int
	}
	Headers map[string][]string
}

type page struct {
	Mails []mail
	Next  *string
}

func read[T any](b *box, operation string, params map[string]any) (result T, failure *eventlog.Failure) {
	b.Helper()
	if params == nil {
		params = map[string]any{}
	}
	text, err := json.Marshal(params)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	out, err := b.r.Read(b.Context(), connector.Call{Workflow: "w", Run: "R1", Connector: "imap", Operation: operation,
		Params: text, StartedAt: now, Deadline: now.Add(time.Minute)})
	if err != nil {
		if !errors.As(err, &failure) {
			b.Fatalf("imap.%s: %v", operation, err)
		}
		return result, failure
	}
	if err := json.Unmarshal(out, &result); err != nil {
		b.Fatalf("imap.%s: %v: %s", operation, err, out)
	}
	return result, nil
}

// list lists a page that must be there.
func (b *box) list(params map[string]any) page {
	b.Helper()
	p, failure := read[page](b, "list", params)
	if failure != nil {
		b.Fatalf("%+v", failure)
	}
	return p
}

// get reads a mail that must be there.
func (b *box) get(id string, headers ...string) mail {
	b.Helper()
	params := map[string]any{"id": id}
	if len(headers) > 0 {
		params["headers"] = headers
	}
	m, failure := read[mail](b, "get", params)
	if failure != nil {
		b.Fatalf("%+v", failure)
	}
	return m
}

// wantFailure wants an operation to fail so.
func (b *box) wantFailure(operation string, params map[string]any, class eventlog.Class, code string) string {
	b.Helper()
	_, failure := read[json.RawMessage](b, operation, params)
	if failure == nil {
		b.Fatalf("imap.%s %v does not fail, want %s %s", operation, params, class, code)
	}
	if failure.Class != class || failure.Code != code {
		b.Errorf("imap.%s %v: %s %s: %s; want %s %s", operation, params, failure.Class, failure.Code, failure.Message, class,
			code)
	}
	return failure.Message
}
