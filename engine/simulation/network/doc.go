// Package network simulates what lies between the engines of a cluster: the bucket of their leases, the requests that
// they send each other, and the processes that stand still.
//
// Every message takes some time, in that of the caller's testing/synctest bubble. A link may be cut from the bucket or
// from the other engines; a process may stand still, as after SIGSTOP: what it has sent arrives, answers are read when
// it goes on, and its clocks have gone on meanwhile. A dead process says nothing any more.
//
// The network notes itself which engine may hold which partition, from what has reached the bucket: tests check the
// engines against that.
package network
