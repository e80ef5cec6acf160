//go:build !unix

package files

import "os"

// notRegular makes something at a path that is no file. Pipes have no place in folders here, so it is a folder.
func notRegular(path string) error { return os.Mkdir(path, 0o700) }
