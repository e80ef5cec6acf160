// Package faults holds no code: its tests run a cluster of three nodes, each a process of its own with a server and
// an engine, let 64 workflows send orders to a receiver that counts, and do to the nodes what happens to machines.
//
// Guaranteed at the end of every test: each order whose push was acknowledged has arrived, and none twice, whatever
// was killed, stopped, cut off, set or filled up meanwhile.
//
// A node is composed here of the embedded server, the log, the leases, the engine and the http connector. Its clock
// can be set while it runs, which no program allows. Scripts run in the node's own process.
//
// The tests are run on demand, by -faults.kills and -faults.all, with leases that last as long as ever;
// -faults.each says how often each workflow gets an order. -faults.throughput measures what one node and three bring.
package faults
