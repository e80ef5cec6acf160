package storetest

import (
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Disk is disk, but takes nothing while it is full: every change fails with ENOSPC, but for a folder
// that is there already.
func Disk(disk vfs.FS, full func() bool) vfs.FS {
	return errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpMkdirAll && full() {
			return &os.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}
		return nil
	}))
}

// RealDisk is the machine's own, until it is full.
func RealDisk(full func() bool) vfs.FS { return Disk(vfs.Default, full) }

// MemoryDisk is an empty disk in memory, until it is full.
func MemoryDisk(full func() bool) vfs.FS { return Disk(vfs.NewMem(), full) }
