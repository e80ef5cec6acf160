package files

import (
	"errors"
	"os"
	"time"
)

// clockFile is written to learn what time it is where the folder lies.
const clockFile = markFolder + "/clock"

// clock is the time with which the folder's file system would mark a change now. The clock of a file server may be far
// from this machine's, and only two times of one clock say how old a file is. Where nothing can be written, the files
// are compared with this machine's time.
func (c *Connector) clock() time.Time {
	here := c.now()
	if c.marks.prepare(here) != nil {
		return here
	}
	file, err := c.dir.Root.OpenFile(clockFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, ownersAlone)
	if err != nil {
		return here
	}
	_, err = file.WriteString(".") // a file that stays empty may keep its time
	info, unknown := file.Stat()
	if errors.Join(err, unknown, file.Close()) != nil {
		return here
	}
	return info.ModTime()
}
