package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/ops/outgoing"
)

// receiver answers attempts as it is told, and notes which it accepted.
type receiver struct {
	mu       sync.Mutex
	answer   func(id string, attempt int) outgoing.Result
	attempts map[string][]time.Time
	accepted []string
}

func (r *receiver) post(ctx context.Context, m outgoing.Message) outgoing.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attempts == nil {
		r.attempts = map[string][]time.Time{}
	}
	r.attempts[m.ID] = append(r.attempts[m.ID], time.Now())
	result := r.answer(m.ID, len(r.attempts[m.ID]))
	if result.Err == nil {
		r.accepted = append(r.accepted, m.ID)
	}
	return result
}

func refusal(ids ...string) func(string, int) outgoing.Result {
	return func(id string, _ int) outgoing.Result {
		if slices.Contains(ids, id) {
			return outgoing.Result{Err: errors.New("no")}
		}
		return outgoing.Result{}
	}
}

var policy = schedule.Default().Transient

func sent(line string, seq uint64) item {
	return item{seq: seq, line: line, message: outgoing.Message{ID: fmt.Sprintf("%s%d", line, seq)}, recorded: time.Now()}
}

// A message that fails holds back its own workflow, and the others until so much waits.
func TestFailureHoldsItsWorkflowBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: refusal("a1")}
		o := newOutbox(r.post, policy, defaultParkAfter, nil)
		ctx, cancel := context.WithCancel(t.Context())
		added := make(chan uint64, 1)
		go func() {
			defer close(added)
			for seq := uint64(1); ; seq++ {
				if o.add(ctx, sent([]string{"b", "a"}[seq%2], seq)) != nil {
					added <- seq
					return
				}
			}
		}()
		time.Sleep(time.Minute)
		cancel()
		blocked := <-added
		o.running.Wait()
		for i, id := range r.accepted {
			if want := fmt.Sprintf("b%d", 2*i+2); id != want {
				t.Errorf("message %d that was accepted is %s, want %s", i, id, want)
			}
		}
		// Half of the messages belong to a, and none of those is passed.
		if blocked != 2*maxWaiting+1 && blocked != 2*maxWaiting || o.progress().passed.seq != 0 {
			t.Errorf("message %d found no room, and the position is behind %d", blocked, o.progress().passed.seq)
		}
	})
}

// What is delivered beyond one that fails is bounded, since a restart delivers it again, and its bodies are let go.
func TestWhatIsDeliveredAheadIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: refusal("a1")}
		o := newOutbox(r.post, policy, defaultParkAfter, nil)
		ctx, cancel := context.WithCancel(t.Context())
		added := make(chan uint64, 1)
		go func() {
			seq := uint64(1)
			for line := "a"; o.add(ctx, sent(line, seq)) == nil; seq++ {
				line = "b"
			}
			added <- seq
		}()
		time.Sleep(time.Minute)
		if s := o.progress(); len(r.accepted) != maxAhead-1 || s.waiting != 1 || s.passed.seq != 0 {
			t.Errorf("%d are accepted; %+v", len(r.accepted), s)
		}
		cancel()
		if blocked := <-added; blocked != maxAhead+1 {
			t.Errorf("message %d found no room", blocked)
		}
		o.running.Wait()
	})
}

// Attempts follow the policy of transient failures, one failure is told once, and the order stays.
func TestAttemptsUntilAccepted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: func(id string, attempt int) outgoing.Result {
			if id == "a1" && attempt < 5 {
				return outgoing.Result{Err: errors.New("no")}
			}
			return outgoing.Result{}
		}}
		o := newOutbox(r.post, policy, defaultParkAfter, nil)
		told := 0
		o.failing = func(error) { told++ }
		for seq := range uint64(3) {
			if err := o.add(t.Context(), sent("a", seq+1)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(500 * time.Millisecond)
		if s := o.progress(); s.failingSince.IsZero() || s.last == nil || s.waiting != 3 {
			t.Errorf("while it fails: %+v", s)
		}
		if !o.empty(t.Context()) {
			t.Fatal("not empty")
		}
		if !slices.Equal(r.accepted, []string{"a1", "a2", "a3"}) || told != 1 || len(r.attempts["a1"]) != 5 {
			t.Errorf("accepted %v after %d attempts, told %d times", r.accepted, len(r.attempts["a1"]), told)
		}
		for n := 1; n < 5; n++ {
			pause := r.attempts["a1"][n].Sub(r.attempts["a1"][n-1])
			if pause < policy.Delay(n, 0) || pause > policy.Delay(n, 1) {
				t.Errorf("attempt %d came %s after the one before", n+1, pause)
			}
		}
		if s := o.progress(); !s.failingSince.IsZero() || s.last != nil || s.passed.seq != 3 || s.waiting != 0 {
			t.Errorf("afterwards: %+v", s)
		}
	})
}

// A receiver that asks to be left alone is left alone, also with the messages of others.
func TestRetryAfterHoldsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: func(id string, attempt int) outgoing.Result {
			if id == "a1" && attempt == 1 {
				return outgoing.Result{Err: errors.New("busy"), RetryAfter: 10 * time.Minute}
			}
			return outgoing.Result{}
		}}
		o := newOutbox(r.post, policy, defaultParkAfter, nil)
		began := time.Now()
		if err := o.add(t.Context(), sent("a", 1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := o.add(t.Context(), sent("b", 2)); err != nil {
			t.Fatal(err)
		}
		o.empty(t.Context())
		if at := r.attempts["b2"][0].Sub(began); at < 10*time.Minute || len(r.attempts["a1"]) != 2 {
			t.Errorf("b2 was sent after %s, a1 %d times", at, len(r.attempts["a1"]))
		}
	})
}

// After 24 hours of failures it is over, also where some of them were before a restart; a receiver that wants no more
// ends it at once.
func TestParked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failed time.Duration // before
		result outgoing.Result
		after  time.Duration
	}{
		"a day":         {0, outgoing.Result{Err: errors.New("no")}, 24 * time.Hour},
		"the rest of a": {20 * time.Hour, outgoing.Result{Err: errors.New("no")}, 4 * time.Hour},
		// The engine was not there: the receiver has an hour.
		"long ago":      {100 * time.Hour, outgoing.Result{Err: errors.New("no")}, time.Hour},
		"a clock ahead": {-100 * time.Hour, outgoing.Result{Err: errors.New("no")}, 24 * time.Hour},
		"gone":          {0, outgoing.Result{Err: errors.New("answered 410"), Gone: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &receiver{answer: func(string, int) outgoing.Result { return c.result }}
				began := time.Now()
				var since *time.Time
				if c.failed != 0 {
					before := began.Add(-c.failed)
					since = &before
				}
				o := newOutbox(r.post, policy, defaultParkAfter, since)
				said := 0
				o.failing = func(error) { said++ }
				ctx, cancel := context.WithCancel(t.Context())
				if err := o.add(ctx, sent("a", 1)); err != nil {
					t.Fatal(err)
				}
				why := <-o.stuck
				// That it is tried again is said only if it is.
				if again := len(r.attempts["a1"]) > 1; said > 1 || again != (said == 1) {
					t.Errorf("%d attempts, and %d times it is said that another follows", len(r.attempts["a1"]), said)
				}
				after := time.Since(began)
				if after < c.after || after > c.after+policy.Max || !strings.Contains(why.Error, c.result.Err.Error()) ||
					!why.Since.Equal(began) {
					t.Errorf("parked after %s: %+v", after, why)
				}
				attempts := len(r.attempts["a1"])
				time.Sleep(48 * time.Hour)
				if len(r.attempts["a1"]) != attempts {
					t.Error("more was sent afterwards")
				}
				cancel()
				o.running.Wait()
			})
		})
	}
}

// What waits for a receiver that hangs takes no more than a part of the memory; one message always has room.
func TestWhatWaitsIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: refusal("a1", "a2")}
		o := newOutbox(r.post, policy, defaultParkAfter, nil)
		ctx, cancel := context.WithCancel(t.Context())
		large := func(seq uint64, bytes int) item {
			i := sent("a", seq)
			i.message.Body = make([]byte, bytes)
			return i
		}
		if err := o.add(ctx, large(1, maxWaitingBytes+1)); err != nil {
			t.Fatal(err)
		}
		second := make(chan error, 1)
		go func() { second <- o.add(ctx, large(2, 1)) }()
		time.Sleep(time.Hour)
		if o.progress().waiting != 1 {
			t.Error("there is room beside more than there may be")
		}
		r.mu.Lock()
		r.answer = refusal("a2")
		r.mu.Unlock()
		if err := <-second; err != nil {
			t.Fatal(err)
		}
		go func() {
			for seq := uint64(3); o.add(ctx, large(seq, maxWaitingBytes/8)) == nil; seq++ {
			}
		}()
		time.Sleep(time.Hour)
		if waiting := o.progress().waiting; waiting != 8 {
			t.Errorf("%d messages wait, want 8", waiting)
		}
		cancel()
		o.running.Wait()
	})
}
