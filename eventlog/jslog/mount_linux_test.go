package jslog_test

import "syscall"

func mountTemporary(dir, size string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
}

func remount(dir, size string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size="+size)
}

func unmount(dir string) error { return syscall.Unmount(dir, 0) }
