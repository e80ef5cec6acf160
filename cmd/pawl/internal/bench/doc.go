// Package bench measures the whole way of an item on this machine, with everything synced: `pawl bench`. Another
// process, `pawl bench-world`, pushes items in and receives what workflows send, so that its work is not counted.
//
// The stages are in load.go, and the names of the figures in bench.go (report): items_per_s_cN is of N workflows with
// one item in flight each, items_per_s_one_workflow of one workflow whose concurrent consumer has all items in flight,
// and items_per_s_slow_cN of the same with N items in flight and slow answers.
package bench
