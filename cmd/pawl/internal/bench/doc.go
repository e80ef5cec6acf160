// Package bench measures the whole way of an item on this machine, with everything synced: `pawl bench`. Another
// process, `pawl bench-world`, pushes items in and receives what workflows send, so that its work is not counted.
package bench
