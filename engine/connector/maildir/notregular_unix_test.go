//go:build unix

package maildir_test

import "syscall"

// notRegular makes something at a path that is neither a file nor a folder.
func notRegular(path string) error { return syscall.Mkfifo(path, 0o600) }
