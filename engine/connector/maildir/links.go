package maildir

import (
	"log/slog"
	"path/filepath"
	"sync"
)

// maxLinks bounds how many links are named, and what is remembered of them.
const maxLinks = 1000

// links tells an operator of symbolic links in the folders of mails: the person who put a link there expects
// a mail, and none is listed. Each is named once for as long as the connector lives.
type links struct {
	root   string
	logger *slog.Logger

	mu    sync.Mutex
	named map[string]bool // by path below the root
}

func newLinks(root string, logger *slog.Logger) *links {
	if logger == nil {
		logger = slog.Default()
	}
	return &links{root: root, logger: logger, named: map[string]bool{}}
}

// leftOut notes that the link at path, below the root, is no mail.
func (l *links) leftOut(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.named[path] || len(l.named) == maxLinks {
		return
	}
	l.named[path] = true
	l.logger.Warn("a symbolic link is not taken for a mail, whatever it leads to: put the file itself there",
		"connector", "maildir", "path", filepath.Join(l.root, path))
	if len(l.named) == maxLinks {
		l.logger.Warn("there are so many symbolic links among the mails that no more of them are named", "connector",
			"maildir", "folder", l.root)
	}
}
