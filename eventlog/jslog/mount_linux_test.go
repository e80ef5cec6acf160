package jslog_test

import "syscall"

func mountTemporary(dir, size string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
}

func remount(dir, size string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size="+size)
}

// unmount does not mind a file that a broker which met a full disk has left open.
func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
