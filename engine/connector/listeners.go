package connector

import (
	"container/list"
	"sync"
)

// Listeners bounds how many calls are listened to after their deadline (F12): each keeps a goroutine,
// and a connection where the call has one of its own. One more than Max gives up the one that has been
// listened to longest: its answer is the least likely to come.
type Listeners struct {
	// Max is how many there may be at once; set before the first joins.
	Max int

	mu      sync.Mutex
	waiting list.List // of chan struct{}, the oldest in front
}

// Join adds a call. It is given up once the channel is closed; leave is called when it has ended,
// given up or not.
func (l *Listeners) Join() (givenUp <-chan struct{}, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := make(chan struct{})
	place := l.waiting.PushBack(mine)
	for l.waiting.Len() > max(l.Max, 1) {
		close(l.waiting.Remove(l.waiting.Front()).(chan struct{}))
	}
	return mine, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.waiting.Remove(place) // does nothing for one that was given up
	}
}
