//go:build !linux && !darwin

package confined

import (
	"errors"
	"os"
)

func renameNew(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
