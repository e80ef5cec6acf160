package node

import (
	"os"
	"runtime"
	"sync"
)

// processors is how many this process may use, as the machine says or its operator.
var processors = runtime.GOMAXPROCS(0)

// spareProcessor lets Go run on one thread more than there are processors. The embedded broker syncs
// and removes files much of the time, and Go notices only a while after such a call has begun that
// nothing runs on its processor. Who sets GOMAXPROCS means it.
var spareProcessor = sync.OnceFunc(func() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(processors + 1)
	}
})
