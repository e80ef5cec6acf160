// Package faults holds no code: its tests run a cluster of three nodes, each a process of its own with a server and an
// engine. 64 workflows send orders to a receiver that counts them, while the nodes suffer what happens to machines.
//
// Guaranteed at the end of every test: each order whose push was acknowledged has arrived, and none twice, whichever
// process was killed or stopped, node cut off, clock set or disk filled up meanwhile.
//
// A node is composed here of the embedded server, the log, the leases, the engine and the http connector. Its clock
// can be set while it runs, which no program allows. Scripts run in the node's own process.
//
// The tests are run on demand, by -faults.kills and -faults.all, with leases of the usual length; -faults.each says how
// often each workflow gets an order. -faults.throughput measures the throughput of one node and of three.
// -faults.upgrade runs three nodes of the real program, in the present version and in a next one, which is built with a
// format of the log that the present one does not read.
package faults
