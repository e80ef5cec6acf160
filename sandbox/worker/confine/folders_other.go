//go:build !linux

package confine

import "errors"

// Become is for Linux alone.
func Become(Folders, string, []string, []string) error {
	return errors.New("programs are confined to folders on Linux only")
}
