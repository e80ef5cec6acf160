//go:build !unix

package confined

import (
	"context"
	"errors"
	"os"
)

// Lock fails: there is no flock here.
func Lock(context.Context, *os.File, bool) error {
	return errors.New("the system has no flock")
}
