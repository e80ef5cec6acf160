package jslog_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// eachWay runs the test with groups that are written singly and with groups that are batches.
func eachWay(t *testing.T, test func(t *testing.T, l *jslog.Log, mark string)) {
	for name, from := range map[string]int{"singly": 1000, "in batches": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := filepath.Join(t.TempDir(), "mark")
			s := natstest.NewServer(t, natstest.Fast)
			test(t, mustOpen(t, natstest.Connect(t, s), jslog.Config{Mark: mark, EmbeddedSync: true, BatchFrom: from}), mark)
		})
	}
}

func named(n int) eventlog.WorkflowName { return eventlog.WorkflowName(fmt.Sprint("w", n)) }

// A caller that learns that a barrier entry is written finds it covered by the mark in the file, however many
// others are on their way; a request leaves at that moment.
func TestBarrierIsPassedBehindTheMark(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, l *jslog.Log, mark string) {
		var all sync.WaitGroup
		for n := range 24 {
			all.Go(func() {
				var head eventlog.Head
				for i := range 8 {
					e := logtest.Entry(t, named(n), head)
					e.Barrier = (n+i)%2 == 0 // the others raise the mark meanwhile
					var err error
					if head, err = logtest.Head(l.Append(t.Context(), e)); err != nil {
						t.Error(err)
						return
					}
					if !e.Barrier {
						continue
					}
					if marked, err := jslog.Marked(mark); err != nil || marked < head.Seq {
						t.Errorf("entry %d was acknowledged, the mark covers %d (%v)", head.Seq, marked, err)
					}
				}
			})
		}
		all.Wait()
	})
}

// A mark that cannot be written lets no barrier entry pass, and holds up nothing else. The entry is in
// the log: the same again passes once the mark can be written.
func TestBarrierIsShutWithoutTheMark(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, l *jslog.Log, mark string) {
		restore, err := l.FailMark()
		if err != nil {
			t.Fatal(err)
		}
		entries := make([]eventlog.Entry, 24)
		var all sync.WaitGroup
		for n := range entries {
			entries[n] = logtest.Entry(t, named(n), eventlog.Head{})
			entries[n].Barrier = n%2 == 0
			all.Go(func() {
				_, err := l.Append(t.Context(), entries[n])
				if entries[n].Barrier && !errors.Is(err, eventlog.ErrUnconfirmed) {
					t.Errorf("a barrier entry passed without the mark: %v", err)
				}
				if !entries[n].Barrier && err != nil {
					t.Errorf("an entry that needs no mark: %v", err)
				}
			})
		}
		all.Wait()
		restore()
		for n := 0; n < len(entries); n += 2 {
			head, err := logtest.Head(l.Append(t.Context(), entries[n]))
			if err != nil {
				t.Fatal(err)
			}
			if marked, err := jslog.Marked(mark); err != nil || marked < head.Seq {
				t.Errorf("entry %d was acknowledged, the mark covers %d (%v)", head.Seq, marked, err)
			}
		}
		if last, err := l.Last(t.Context(), 0); err != nil || last != uint64(len(entries)) {
			t.Errorf("the log ends at %d (%v), want %d: an entry was lost or written twice", last, err, len(entries))
		}
	})
}

// While the mark is on its way to the disk the others go on, and Close waits for those behind the
// barrier: they are written, and their callers are told so.
func TestCloseWaitsForTheBarrier(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, l *jslog.Log, mark string) {
		release := sync.OnceFunc(l.HoldMark())
		t.Cleanup(release)
		passed := make(chan error, 3)
		for n := range cap(passed) {
			e := logtest.Entry(t, named(n), eventlog.Head{})
			e.Barrier = true
			go func() {
				_, err := l.Append(t.Context(), e)
				passed <- err
			}()
		}
		// What is not behind a barrier is acknowledged although the mark is held. The log goes on until
		// it holds those that are.
		var head eventlog.Head
		for head.Seq-head.Revision < uint64(cap(passed)) {
			var err error
			if head, err = logtest.Head(l.Append(t.Context(), logtest.Entry(t, "other", head))); err != nil {
				t.Fatal(err)
			}
		}
		closed := make(chan error, 1)
		go func() { closed <- l.Close() }()
		select {
		case err := <-passed:
			t.Fatalf("an entry passed the barrier while the mark was held: %v", err)
		case err := <-closed:
			t.Fatalf("closed while entries were behind the barrier: %v", err)
		case <-l.Closing():
		}
		release()
		for range cap(passed) {
			if err := <-passed; err != nil {
				t.Errorf("an entry that was written before the end: %v", err)
			}
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if marked, err := jslog.Marked(mark); err != nil || marked != head.Seq {
			t.Errorf("the mark covers %d (%v), want %d", marked, err, head.Seq)
		}
	})
}
