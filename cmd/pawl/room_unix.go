//go:build unix

package main

import (
	"golang.org/x/sys/unix"

	"github.com/pawl-run/pawl/engine/schedule"
)

// freeSpace is what an ordinary user may still write to the folder's disk.
func freeSpace(dir string) (schedule.Size, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return schedule.Size(uint64(fs.Bavail) * uint64(fs.Bsize)), nil
}
