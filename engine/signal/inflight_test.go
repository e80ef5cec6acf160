package signal

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// An engine that ends waits for every call that has left, also for one that leaves while it waits; after
// that none leaves.
func TestNoCallLeavesAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls InFlight
		var ended atomic.Bool
		if !calls.Begin() {
			t.Fatal("the first call may not leave")
		}
		go func() {
			calls.End()
			ended.Store(true)
		}()
		synctest.Wait()
		if ended.Load() || !calls.Begin() {
			t.Fatal("it has not waited for the open call")
		}
		calls.Done()
		synctest.Wait()
		if ended.Load() {
			t.Fatal("it has not waited for the call that left meanwhile")
		}
		calls.Done()
		synctest.Wait()
		if !ended.Load() || calls.Begin() {
			t.Fatalf("ended %v, and a call may leave", ended.Load())
		}
	})
}
