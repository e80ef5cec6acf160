package smtp_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/smtp"
	"github.com/pawl-run/pawl/eventlog"
)

// shortly is when a deadline passes that a test waits for; long enough for a busy machine to come to where it waits.
const shortly = 2 * time.Second

// The right to send is asked for once, when all but the end of the mail is out; refused, the mail is never ended.
func TestNothingIsHandedOverWithoutTheRight(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	d := newDesk(t, nil)
	d.wait = func(command string) {
		if command == "." {
			close(ended)
		}
	}
	call := plain()
	asked, after := 0, ""
	call.Gate = func() *eventlog.Failure {
		asked++
		if asked == 1 {
			return nil // before the connector is asked
		}
		said := d.said()
		after = said[len(said)-1]
		return connector.Failf(eventlog.Transient, "lease.lost", "it is another engine's now")
	}
	out := d.registry(nil).Perform(t.Context(), call)
	wantFailed(t, out, eventlog.Transient, "lease.lost")
	if asked != 2 || after != "DATA" {
		t.Errorf("asked %d times, the last one after %q, want 2 and DATA", asked, after)
	}
	select {
	case <-ended:
		t.Error("the mail was ended")
	default:
	}
	if _, mails := d.counts(); mails != 0 {
		t.Errorf("%d mails arrived", mails)
	}
}

// The deadline passes while the server thinks: what has not been handed over by then never is.
func TestTheDeadlineEndsWhatIsNotHandedOver(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"EHLO", "MAIL", "RCPT", "DATA"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, nil)
			d.wait = func(command string) {
				if command == at {
					<-d.released
				}
			}
			call := plain()
			call.Deadline = time.Now().Add(shortly)
			out := d.registry(nil).Perform(t.Context(), call)
			wantFailed(t, out, eventlog.Transient, connector.CodeTimeout)
			if dials, mails := d.counts(); dials != 1 || mails != 0 {
				t.Errorf("%d connections, %d mails", dials, mails)
			}
		})
	}
}

// A call that is given up within the mail is not handed over.
func TestACallThatIsGivenUpWithinTheMail(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	d := newDesk(t, func(d *desk) { d.mute = cancel })
	out := d.registry(nil).Perform(ctx, send(map[string]any{"to": "ann@example.net", "subject": "Hi",
		"html": strings.Repeat("0123456789 ", 500_000)}))
	wantFailed(t, out, eventlog.Transient, connector.CodeCancelled)
}

// An answer after the deadline still settles the mail.
func TestALateAnswerSettles(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	d := newDesk(t, nil)
	d.wait = func(command string) {
		if command == "." {
			d.hold(answer)
		}
	}
	r := d.registry(nil)
	late := make(chan connector.Outcome, 1)
	r.OnLate(func(_ connector.Call, out connector.Outcome) { late <- out })
	call := plain()
	call.Deadline = time.Now().Add(shortly)
	out := r.Perform(t.Context(), call)
	if out.Status != connector.Uncertain || !out.Open || out.Failure.Code != connector.CodeTimeout {
		t.Fatalf("the outcome is %+v %+v, want uncertain and open", out, out.Failure)
	}
	close(answer)
	if out := <-late; out.Status != connector.Applied {
		t.Errorf("late: %+v", out.Failure)
	}
	if _, mails := d.counts(); mails != 1 {
		t.Errorf("%d mails", mails)
	}
}

// When the engine ends, the answer to a mail is not listened for any more.
func TestTheEndOfTheEngineEndsListening(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(cancel context.CancelFunc, made *smtp.Connector)
	}{
		{"the call is given up", func(cancel context.CancelFunc, _ *smtp.Connector) { cancel() }},
		{"the connector is closed", func(_ context.CancelFunc, made *smtp.Connector) { made.Close() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, nil)
			made, err := smtp.New(smtp.Config{Server: d.address, From: []string{"a@example.com"}})
			if err != nil {
				t.Fatal(err)
			}
			defer made.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d.wait = func(command string) {
				if command == "." {
					c.end(cancel, made)
					<-d.released
				}
			}
			out := made.Perform(ctx, plain())
			if out.Status != connector.Uncertain {
				t.Errorf("the outcome is %d %+v, want uncertain", out.Status, out.Failure)
			}
		})
	}
}

// More calls than connections wait for one, and are not sent when none comes free in time.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const most, all = 10, 25
	var open, seen atomic.Int32
	arrived, held := make(chan struct{}, all), make(chan struct{})
	d := newDesk(t, nil)
	d.wait = func(command string) {
		switch command {
		case "DATA":
			seen.Store(max(seen.Load(), open.Add(1)))
			arrived <- struct{}{}
			d.hold(held)
		case ".":
			open.Add(-1)
		}
	}
	r := d.registry(nil)
	outcomes := make(chan connector.Outcome)
	for range all {
		go func() { outcomes <- r.Perform(t.Context(), plain()) }()
	}
	for range most {
		<-arrived
	}
	late := plain()
	late.Deadline = time.Now().Add(shortly)
	out := r.Perform(t.Context(), late)
	wantFailed(t, out, eventlog.Transient, eventlog.CodeHeldBack)
	if out.Failure.RetryAfter < time.Second || !strings.Contains(out.Failure.Message, "at most 10 calls at once") {
		t.Errorf("the failure is %+v", out.Failure)
	}
	close(held)
	for range all {
		if out := <-outcomes; out.Status != connector.Applied {
			t.Errorf("%+v", out.Failure)
		}
	}
	if n := seen.Load(); n != most {
		t.Errorf("%d connections at once, want %d", n, most)
	}
	if dials, mails := d.counts(); dials != all || mails != all {
		t.Errorf("%d connections and %d mails, want %d", dials, mails, all)
	}
}

// The mails that are only listened to, after their deadline, keep no other from its connection.
func TestListeningHoldsNoConnection(t *testing.T) {
	t.Parallel()
	const most = 10
	d := newDesk(t, nil)
	var held atomic.Bool
	held.Store(true)
	d.wait = func(command string) {
		if command == "." && held.Load() {
			<-d.released
		}
	}
	r := d.registry(nil)
	outcomes := make(chan connector.Outcome)
	for range most {
		go func() {
			call := plain()
			call.Deadline = time.Now().Add(2 * shortly)
			outcomes <- r.Perform(t.Context(), call)
		}()
	}
	for range most {
		if out := <-outcomes; out.Status != connector.Uncertain || !out.Open {
			t.Fatalf("the outcome is %d %+v, want uncertain and open", out.Status, out.Failure)
		}
	}
	held.Store(false)
	if out := r.Perform(t.Context(), plain()); out.Status != connector.Applied {
		t.Errorf("the outcome is %d %+v, want applied", out.Status, out.Failure)
	}
}

// A mail that the server has taken is reported at once, however long the server takes to say goodbye.
func TestNoGoodbyeIsWaitedFor(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	d := newDesk(t, nil)
	d.wait = func(command string) {
		if command == "QUIT" {
			close(asked)
			<-d.released
		}
	}
	r := d.registry(func(c *smtp.Config) { c.Farewell = time.Hour })
	call := plain()
	call.Deadline = time.Now().Add(5 * shortly)
	if out := r.Perform(t.Context(), call); out.Status != connector.Applied {
		t.Errorf("the outcome is %d %+v, want applied", out.Status, out.Failure)
	}
	<-asked
}
