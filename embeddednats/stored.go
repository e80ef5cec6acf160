package embeddednats

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Stored is how many bytes the streams below a store directory hold, as the server counts them against
// Config.JetStreamMaxStore: a compressed block counts with the size of its text. No server is asked, so it is known
// before one starts: 0 where there is no store yet. A block that cannot be read counts with the size of its file.
// It fails when a folder of the store cannot be listed.
func Stored(storeDir string) (int64, error) {
	total := int64(0)
	err := filepath.WalkDir(filepath.Join(storeDir, "jetstream"), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || entry.IsDir():
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return nil // a file that is just gone counts as nothing
		}
		size := info.Size()
		if filepath.Ext(path) == ".blk" {
			size = max(size, sizeInBlock(path))
		}
		total += size
		return nil
	})
	return total, err
}

// sizeInBlock is the size that a compressed block names; 0 for any other file.
func sizeInBlock(path string) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	head, _ := bufio.NewReader(f).Peek(len(compressedBlock) + binary.MaxVarintLen64) // of a short file, all of it
	size, n, ok := blockSize(head)
	if !ok || n <= 0 || size > largestBlock {
		return 0
	}
	return int64(size)
}
