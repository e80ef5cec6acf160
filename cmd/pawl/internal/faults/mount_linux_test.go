//go:build unix

package faults

import "syscall"

func mountSmall(dir, size string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
}

func unmountSmall(dir string) error { return syscall.Unmount(dir, 0) }
