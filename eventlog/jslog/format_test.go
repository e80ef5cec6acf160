package jslog_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// streamOf is a stream of a log, and the way to change it.
func streamOf(t *testing.T, nc *nats.Conn, name string) (jetstream.JetStream, jetstream.StreamConfig) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return js, s.CachedInfo().Config
}

// reconfigure changes how the first stream of a log is configured, as a stranger does.
func reconfigure(t *testing.T, nc *nats.Conn, change func(*jetstream.StreamConfig)) {
	t.Helper()
	js, config := streamOf(t, nc, "PAWL_LOG_0")
	change(&config)
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

// formatOf is what the streams of a log say of its format.
func formatOf(t *testing.T, nc *nats.Conn, stream string) string {
	t.Helper()
	_, config := streamOf(t, nc, stream)
	return config.Metadata["pawl.format"]
}

// A log that holds nothing new can be read by an older version. One that holds the installation says so
// before its first message, and an older version refuses it by its format instead of taking that message
// for damage.
func TestFormatOfTheInstallation(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	l := mustOpen(t, nc, jslog.Config{})
	write := func(w eventlog.WorkflowName, head eventlog.Head, f eventlog.Fact) eventlog.Head {
		t.Helper()
		e, err := eventlog.NewEntry(eventlog.Transition{ID: eventlog.TransitionID("T" + string(w)), Workflow: w, At: 1,
			Actor: eventlog.System, Kind: f.FactType(), Facts: []eventlog.Fact{f}}, head)
		if err != nil {
			t.Fatal(err)
		}
		written, err := l.Append(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return written.Head
	}
	write("shop", eventlog.Head{}, &eventlog.WorkflowPaused{})
	if got := formatOf(t, nc, "PAWL_LOG_0"); got != "1" {
		t.Errorf("a log of workflows alone has format %s, want 1", got)
	}
	head := write(eventlog.Installation, eventlog.Head{}, &eventlog.TokenCreated{Name: "ci", Role: eventlog.RoleViewer,
		Hash: "00", Last4: "ABCD"})
	if got := formatOf(t, nc, "PAWL_LOG_0"); got != "2" {
		t.Errorf("a log with the installation has format %s, want 2", got)
	}
	shop := write("store", eventlog.Head{}, &eventlog.WorkflowDeployed{Version: "1.0", Definition: eventlog.Definition{
		Consumers: []eventlog.Consumer{{Name: "c", Concurrency: 4}}}})
	if got := formatOf(t, nc, "PAWL_LOG_0"); got != "3" {
		t.Errorf("a log with a concurrent consumer has format %s, want 3", got)
	}
	write("store", shop, &eventlog.WorkflowPaused{})
	if got := formatOf(t, nc, "PAWL_LOG_0"); got != "3" {
		t.Errorf("a message that needs no format has made it %s", got)
	}
	write(eventlog.Installation, head, &eventlog.TokenRevoked{Name: "ci"}) // it needs a lower one
	if got := formatOf(t, nc, "PAWL_LOG_0"); got != "3" {
		t.Errorf("a message of the installation has made it %s", got)
	}
	again := mustOpen(t, nc, jslog.Config{})
	var kinds []eventlog.FactType
	for r, err := range again.ReadWorkflow(t.Context(), eventlog.Installation, 1) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, r.Kind)
	}
	if len(kinds) != 2 || kinds[0] != "token.created" || kinds[1] != "token.revoked" {
		t.Errorf("read %v", kinds)
	}
	if last, err := again.Last(t.Context(), 0); err != nil || last != 5 {
		t.Errorf("the log ends at %d, %v", last, err)
	}
	for r, err := range again.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Errorf("%s: %v", r.Position, err)
		}
	}
}

// A shared log that was made by an older version keeps its format until it is raised: what needs a newer one is refused
// and can be written afterwards, without another opening. A new one has the newest at once.
func TestTheFormatOfASharedLogIsHeld(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	made := mustOpen(t, nc, jslog.Config{HoldFormat: true, Partitions: 2})
	if got, err := made.Format(t.Context()); err != nil || got != eventlog.FormatVersion {
		t.Errorf("a new log has format %d, %v; want %d", got, err, eventlog.FormatVersion)
	}
	for _, stream := range []string{"PAWL_LOG_0", "PAWL_LOG_1"} { // as an older version has made it
		js, config := streamOf(t, nc, stream)
		config.Metadata["pawl.format"] = "6"
		if _, err := js.UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	l := mustOpen(t, nc, jslog.Config{HoldFormat: true})
	append := func(w eventlog.WorkflowName, f eventlog.Fact) error {
		id := eventlog.TransitionID("T" + string(w) + string(f.FactType()))
		e, err := eventlog.NewEntry(eventlog.Transition{ID: id, Workflow: w, At: 1,
			Actor: eventlog.System, Kind: f.FactType(), Facts: []eventlog.Fact{f}}, eventlog.Head{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Append(t.Context(), e)
		return err
	}
	restored := &eventlog.LogRestored{From: "a backup"} // format 7
	if err := append("w", restored); !errors.Is(err, eventlog.ErrHeldFormat) || errors.Is(err, eventlog.ErrUnconfirmed) {
		t.Errorf("a message that needs a newer format: %v", err)
	}
	if err := l.Admits(t.Context(), 0, 7); !errors.Is(err, eventlog.ErrHeldFormat) {
		t.Errorf("format 7 is admitted: %v", err)
	}
	if err := l.Admits(t.Context(), 0, 6); err != nil {
		t.Errorf("format 6 is not admitted: %v", err)
	}
	if err := append("other", &eventlog.EventTraced{}); err != nil {
		t.Errorf("a message that the format knows: %v", err)
	}
	if err := l.RaiseFormat(t.Context(), eventlog.FormatVersion+1); !errors.Is(err, eventlog.ErrNewerFormat) {
		t.Errorf("a format that this version does not know: %v", err)
	}
	if err := l.RaiseFormat(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Format(t.Context()); err != nil || got != 7 {
		t.Errorf("the log has format %d, %v; want 7", got, err)
	}
	if err := l.Admits(t.Context(), 0, 7); err != nil {
		t.Errorf("format 7, after it was raised: %v", err)
	}
	if err := append("w", restored); err != nil {
		t.Errorf("after the format was raised: %v", err)
	}
}

// Another program has read the configuration of a stream before its format was raised, and writes it afterwards. The
// format is raised again; in a cluster once that lasts, for it may be the answer of a leader that was deposed.
func TestAFormatThatIsTakenAwayIsRaisedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		maxElection time.Duration
		want        string
	}{
		"one server":         {0, "2"},
		"a cluster, at once": {time.Hour, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
			l := mustOpen(t, nc, jslog.Config{})
			js, before := streamOf(t, nc, "PAWL_LOG_0")
			if err := l.RaiseFormat(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			if _, err := js.UpdateStream(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			l.SetMaxElection(c.maxElection)
			if _, err := l.Last(t.Context(), 0); err != nil {
				t.Error(err)
			}
			if got := formatOf(t, nc, "PAWL_LOG_0"); got != c.want {
				t.Errorf("the log says format %s, want %s", got, c.want)
			}
		})
	}
}

// A format that was taken away and could not be raised again at once is not forgotten.
func TestAFormatThatCouldNotBeRaisedAgainIsNotForgotten(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	var refuse error
	l := mustOpen(t, nc, jslog.Config{BeforeUpdate: func(string) error { return refuse }})
	js, before := streamOf(t, nc, "PAWL_LOG_0")
	if err := l.RaiseFormat(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if _, err := js.UpdateStream(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	refuse = errors.New("the disk is full")
	if _, err := l.Last(t.Context(), 0); !errors.Is(err, refuse) {
		t.Errorf("while it cannot be raised: %v", err)
	}
	refuse = nil
	if _, err := l.Last(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if got := formatOf(t, nc, "PAWL_LOG_0"); got != "2" {
		t.Errorf("the log says format %s, want 2", got)
	}
}
