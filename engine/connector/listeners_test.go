package connector_test

import (
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
)

// F12: calls that are listened to after their deadline are bounded in number; the oldest gives way.
func TestF12_TheOldestListenerGivesWay(t *testing.T) {
	l := connector.Listeners{Max: 2}
	over := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	a, leaveA := l.Join()
	b, leaveB := l.Join()
	if over(a) || over(b) {
		t.Fatal("one was given up although there was room")
	}
	c, _ := l.Join()
	if !over(a) || over(b) || over(c) {
		t.Errorf("given up: %v %v %v, want the first alone", over(a), over(b), over(c))
	}
	leaveA()
	leaveB()
	leaveB()
	d, _ := l.Join()
	if over(c) || over(d) {
		t.Error("one was given up although there was room again")
	}
	if e, _ := l.Join(); !over(c) || over(d) || over(e) {
		t.Errorf("given up: %v %v %v, want the first alone", over(c), over(d), over(e))
	}
}
