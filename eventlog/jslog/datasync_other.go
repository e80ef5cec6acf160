//go:build !linux

package jslog

import "os"

func datasync(f *os.File) error { return f.Sync() }
