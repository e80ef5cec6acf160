//go:build !unix

package csv

import (
	"context"
	"errors"
	"os"
)

func lockFile(context.Context, *os.File, bool) error {
	return errors.New("the csv connector needs flock, which this system does not have")
}
