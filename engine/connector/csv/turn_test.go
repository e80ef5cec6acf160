package csv_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// places is how many calls read large files at once.
const places = 2

// fill makes a file that is large enough to take turns at.
func (b *book) fill(file string) {
	b.Helper()
	text := "a,_pawl\n" + strings.Repeat("some text,\n", 10_000)
	if err := os.WriteFile(filepath.Join(b.dir, file), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

// to is the call with another file.
func to(file string, call connector.Call) connector.Call {
	call.Params = json.RawMessage(strings.Replace(string(call.Params), "a.csv", file, 1))
	return call
}

func wantHeldBack(t *testing.T, err error, says string) {
	t.Helper()
	var failure *eventlog.Failure
	if !errors.As(err, &failure) || failure.Code != eventlog.CodeHeldBack || !strings.Contains(failure.Message, says) {
		t.Errorf("%v, want a call that is held back by %q", err, says)
	}
}

// While as many calls read large files as may, others wait for their turn in half of their time. A small file has no
// turns, nor has an append to a file that is known.
func TestLargeFilesHaveTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		b := open(t, t.TempDir(), func(ctx context.Context) {
			if ctx.Value(held) != nil {
				<-held
			}
		})
		b.fill("known.csv")
		if out := b.csv.Perform(t.Context(), to("known.csv", row("k0", `{"a":1}`))); out.Status != connector.Applied {
			t.Fatal(out.Failure)
		}
		b.write("a,_pawl\n1,\n")
		b.fill("big.csv")
		for n := range places {
			file := fmt.Sprintf("held%d.csv", n)
			b.fill(file)
			go b.csv.Perform(context.WithValue(t.Context(), held, true), to(file, row("k", `{"a":1}`)))
		}
		synctest.Wait()

		waiting := make(chan error)
		go func() {
			_, err := b.r.Read(t.Context(), to("big.csv", find("a", "x")))
			waiting <- err
		}()
		synctest.Wait()
		if all := b.r.Waiting("w"); len(all) != 1 || all[0].Target != "large CSV files" {
			t.Errorf("waiting: %+v, want the search", all)
		}
		if got, err := b.r.Read(t.Context(), find("a", "1")); err != nil || string(got) == "null" {
			t.Errorf("in a small file: %s, %v", got, err)
		}
		if out := b.r.Perform(t.Context(), to("known.csv", row("k1", `{"a":1}`))); out.Status != connector.Applied {
			t.Errorf("append to a known file: %v", out.Failure)
		}
		begun := time.Now()
		wantHeldBack(t, <-waiting, "too many calls to large CSV files were under way")
		if took := time.Since(begun); took != connector.DefaultTimeout/2 {
			t.Errorf("held back after %s", took)
		}
		if all := b.r.Waiting("w"); len(all) != 0 {
			t.Errorf("still waiting: %+v", all)
		}
		close(held)
		synctest.Wait()
		if got, err := b.r.Read(t.Context(), to("big.csv", find("a", "x"))); err != nil || string(got) != "null" {
			t.Errorf("after that: %s, %v", got, err)
		}
	})
}

// An append has to read the file, for which it needs a turn, while all turns are with reads that wait for the file
// behind it. It lets them go first.
func TestACallThatHoldsItsFileNeverWaitsForATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		b := open(t, t.TempDir(), func(ctx context.Context) {
			if ctx.Value(held) != nil {
				<-held
			}
		})
		b.fill("a.csv")
		b.append("k0", `{"a":1}`, 10_001)
		go b.csv.Perform(context.WithValue(t.Context(), held, true), row("k1", `{"a":1}`)) // it has the file, and no turn
		synctest.Wait()
		again := make(chan connector.Outcome)
		go func() { again <- b.r.Perform(t.Context(), row("k0", `{"a":1}`)) }()
		synctest.Wait()
		found := make(chan error)
		for range places {
			go func() {
				_, err := b.r.Read(t.Context(), find("a", "1"))
				found <- err
			}()
		}
		synctest.Wait()
		begun := time.Now()
		close(held)
		for range places {
			if err := <-found; err != nil {
				t.Error(err)
			}
		}
		if out := <-again; string(out.Result) != `{"row":10001}` {
			t.Errorf("the same append again: %s, %v", out.Result, out.Failure)
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it took %s", took)
		}
	})
}
