// Package confined gives connectors one folder of the file system and nothing outside it.
//
// It guarantees that no name, symbolic link or race between the two reaches outside the folder
// (os.Root), that opening never blocks on a pipe and never yields a device, and that every error
// gets its class from its type (F1). It does not guard against bind mounts, hard links or
// other processes that write to the folder.
package confined
