//go:build !linux

package durable

import "os"

// SyncData syncs the content, and all else that the system keeps of the file.
func SyncData(f *os.File) error { return f.Sync() }
