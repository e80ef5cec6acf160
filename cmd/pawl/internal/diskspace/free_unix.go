//go:build unix

package diskspace

import (
	"golang.org/x/sys/unix"

	"github.com/pawl-run/pawl/engine/schedule"
)

// Free is what an ordinary user may still write to the folder's disk. It fails when the system cannot tell.
func Free(dir string) (schedule.Size, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return schedule.Size(uint64(fs.Bavail) * uint64(fs.Bsize)), nil
}
