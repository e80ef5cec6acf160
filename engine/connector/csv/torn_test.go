package csv_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// TestATornRowIsCutOff truncates the file at every byte of its last record, as a crash inside the
// write would leave it: with the note and without, which a power loss may take.
func TestATornRowIsCutOff(t *testing.T) {
	values := `{"a":"x,\n\"y","b":"=1"}`
	for _, lineEnd := range []string{"\n", "\r\n"} {
		before := "a,b,_pawl" + lineEnd + "1,2,k0" + lineEnd
		last := "\"x,\n\"\"y\",'=1,k1" + lineEnd
		for cut := range len(last) + 1 {
			for _, note := range []bool{true, false} {
				b := open(t, t.TempDir(), nil)
				b.write(before)
				b.append("k1", values, 2)
				b.want(before + last)
				if err := os.Truncate(b.path(), int64(len(before)+cut)); err != nil {
					t.Fatal(err)
				}
				if !note {
					if err := os.Remove(filepath.Join(b.dir, ".pawl-a.csv")); err != nil {
						t.Fatal(err)
					}
				}
				if cut == len(last) {
					b.reconcile(row("k1", values), connector.VerdictApplied)
					b.want(before + last)
					continue
				}
				got := b.reconcile(row("k1", values), connector.VerdictFailed)
				if got.Failure.Class != eventlog.Transient || got.Failure.Code != "csv.notWritten" {
					t.Errorf("failure = %+v", got.Failure)
				}
				b.want(before)
				b.append("k2", `{"a":"z"}`, 2)
				b.want(before + "z,,k2" + lineEnd)
			}
		}
	}
}

// TestATornRowNeverMergesWithTheNext lets another call append before the torn row is reconciled.
func TestATornRowNeverMergesWithTheNext(t *testing.T) {
	before, last := "a,b,_pawl\n1,2,k0\n", "\"x,\n\"\"y\",z,k1\n"
	for cut := 1; cut < len(last); cut++ {
		b := open(t, t.TempDir(), nil)
		b.write(before)
		b.append("k1", `{"a":"x,\n\"y","b":"z"}`, 2)
		if err := os.Truncate(b.path(), int64(len(before)+cut)); err != nil {
			t.Fatal(err)
		}
		b.append("k2", `{"a":"new"}`, 2)
		b.want(before + "new,,k2\n")
		b.reconcile(row("k1", `{"a":"x,\n\"y","b":"z"}`), connector.VerdictFailed)
		b.want(before + "new,,k2\n")

		// Without the note it looks like a person's line: it stays, as a row of its own.
		b.write(before + last[:cut])
		if err := os.Remove(filepath.Join(b.dir, ".pawl-a.csv")); err != nil {
			t.Fatal(err)
		}
		b.append("k3", `{"a":"new"}`, 3)
		text, err := os.ReadFile(b.path())
		if err != nil || !strings.HasSuffix(string(text), "\nnew,,k3\n") {
			t.Errorf("cut %d: file = %q, %v", cut, text, err)
		}
		b.reconcile(row("k3", `{"a":"new"}`), connector.VerdictApplied)
	}
}

func TestAPersonsEditIsNoTornRow(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.append("k1", `{"a":"x","b":"y"}`, 1)
	b.write("a,b,_pawl\nz,") // saved over, shorter, and not what the note says
	b.append("k2", `{"a":"new"}`, 2)
	b.want("a,b,_pawl\nz,\nnew,,k2\n")
}

func TestReconcileWhereNothingWasWritten(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.reconcile(row("k1", `{"a":1}`), connector.VerdictFailed)
	b.write("a,_pawl\n1,k0")
	b.reconcile(row("k1", `{"a":1}`), connector.VerdictFailed)
	b.want("a,_pawl\n1,k0") // another writer's unfinished line
	b.write("a\n")
	b.reconcile(row("k1", `{"a":1}`), connector.VerdictFailed)
}

func TestReconcileWaitsForTheWriter(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	b := open(t, t.TempDir(), func(context.Context) { close(inside); <-goOn })
	b.write("a,_pawl\n")
	done := make(chan connector.Outcome)
	go func() { done <- b.csv.Perform(context.WithoutCancel(t.Context()), row("k1", `{"a":1}`)) }()
	<-inside
	// Another process asks while the writer holds the lock: it must not say failed.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if got := open(t, b.dir, nil).csv.Reconcile(ctx, row("k1", `{"a":1}`)); got.Verdict != connector.VerdictRetry {
		t.Errorf("reconcile beside the writer = %+v, want retry", got)
	}
	close(goOn)
	if out := <-done; out.Status != connector.Applied {
		t.Errorf("outcome = %+v", out)
	}
}
