package turn

import "runtime"

// processors is what this process may use. It is asked before the program starts: the engine raises GOMAXPROCS by one,
// for its writes to the disk.
var processors = runtime.GOMAXPROCS(0)

// Processors is the number of places where a call is work for this process itself, such as the search through a file:
// one for each processor but one, which is left to the rest of the engine, and at least one.
func Processors() int { return max(1, processors-1) }
