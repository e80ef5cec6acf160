package confine

import (
	"os"
	"os/signal"
	"syscall"
)

// IgnoreEnd makes this process ignore the signals that ask a process to end, also those that its program has handled
// until now. Its parent alone ends it: a service manager may send these signals to all processes of a service at once,
// and the parent still needs this one until its own work is done. A process that ended for them would look as if what
// it works on had made it end. Call it before anything else.
func IgnoreEnd() {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
}
