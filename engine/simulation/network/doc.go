// Package network simulates what lies between the engines of a cluster: the bucket of their leases, the requests that
// they send each other, and the processes that stand still.
//
// Every message takes some time, in that of the caller's testing/synctest bubble. A link may be cut from the bucket or
// from the other engines; a process may stand still, as after SIGSTOP: what it has sent arrives, what it is answered
// it reads when it goes on, and its clocks have gone on meanwhile. One that is dead says nothing any more.
//
// The network keeps its own account of which engine may hold which partition, from what has reached the bucket: it is
// what a test holds the engines against.
package network
