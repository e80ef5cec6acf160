package process_test

import (
	"bytes"
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pawl-run/pawl/engine/process"
)

// TestGoroutines: what runs on a goroutine waits for nothing else, one that is done takes the next work, a bounded
// number waits, and none outlives the engine: a bubble with one left over fails.
func TestGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		g := process.NewGoroutines()
		const most = 256
		for _, many := range []int{300, most, most} {
			var at, gone sync.WaitGroup
			letGo := make(chan struct{})
			for range many {
				at.Add(1)
				gone.Add(1)
				g.Go(life, func() { at.Done(); <-letGo; gone.Done() })
			}
			at.Wait() // all at once
			if now := serving(); now != many {
				t.Errorf("%d goroutines do %d works", now, many)
			}
			close(letGo)
			gone.Wait()
			synctest.Wait()
			if now := serving(); now != most {
				t.Errorf("%d goroutines wait for work, want %d", now, most)
			}
		}
		end()
	})
}

// TestGoroutinesTakeTheLast: the goroutine that was done last works next.
func TestGoroutinesTakeTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		g := process.NewGoroutines()
		letGo := make([]chan struct{}, 3)
		for i := range letGo {
			letGo[i] = make(chan struct{})
			g.Go(life, func() { <-letGo[i] })
		}
		for _, i := range []int{2, 0, 1} {
			close(letGo[i])
			synctest.Wait()
		}
		var ids [][]byte
		for range 2 {
			done := make(chan struct{})
			g.Go(life, func() {
				ids = append(ids, goroutine())
				close(done)
			})
			<-done
			synctest.Wait()
		}
		if !bytes.Equal(ids[0], ids[1]) {
			t.Errorf("goroutine %s worked, then %s", ids[0], ids[1])
		}
		end()
	})
}

// TestGoroutinesAtTheEnd: work that a waiting goroutine is given when life has just ended is done all the same.
func TestGoroutinesAtTheEnd(t *testing.T) {
	for range 10 { // life and work come together: which one the goroutine sees is chance
		synctest.Test(t, func(t *testing.T) {
			life, end := context.WithCancel(t.Context())
			g := process.NewGoroutines()
			g.Go(life, func() {})
			synctest.Wait()
			done := make(chan struct{})
			end()
			g.Go(life, func() { close(done) })
			<-done
		})
	}
}

// serving counts the goroutines of this process that serve a Goroutines.
func serving() int {
	all := make([]byte, 4<<20)
	return bytes.Count(all[:runtime.Stack(all, true)], []byte("process.(*Goroutines).serve("))
}

// goroutine names the goroutine that calls.
func goroutine() []byte {
	stack := make([]byte, 64)
	return bytes.Fields(stack[:runtime.Stack(stack, false)])[1]
}
