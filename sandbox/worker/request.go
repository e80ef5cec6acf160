package worker

import (
	"github.com/pawl-run/pawl/sandbox"
)

// request is what a worker is asked to do: to run a handler, or to describe a script.
type request struct {
	source   *sandbox.Source
	call     *sandbox.Invocation // nil for a description
	host     sandbox.Host
	limits   sandbox.Limits
	pack     func(k *packer, serial uint64, ref scriptRef)
	answer   frameKind
	maxFrame int
	read     func(*unpacker) (serial uint64, err error)
}
