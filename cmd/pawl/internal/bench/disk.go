package bench

import (
	"os"
	"path/filepath"
)

// diskUse sums the blocks that files below dir take.
func diskUse(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				sum += allocated(info)
			}
		}
		return nil
	})
	return sum
}
