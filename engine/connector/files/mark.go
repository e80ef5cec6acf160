package files

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/confined"
)

const (
	// markFolder holds the marks, in the connector's folder.
	markFolder = ".pawl"
	// keepMarks is how long a mark is kept. Reconcile trusts a missing mark only for younger calls.
	keepMarks = 30 * 24 * time.Hour
	// pruneEvery is how often old marks are looked for.
	pruneEvery = time.Hour
	// refused is what a mark says of a key that must not be applied any more.
	refused = "refused"
)

// moveLock is the file whose lock a move holds until it is settled, and reconcile while it looks. So a process that
// stands still within a move never goes on after reconcile has said that nothing was moved.
const moveLock = markFolder + "/moves.lock"

// tokenSuffix ends the name of a move's token, which begins with that of its mark.
const tokenSuffix = ".moved"

// marks are the traces that writes and moves leave, one for each idempotency key.
type marks struct {
	dir *confined.Dir

	mu     sync.Mutex
	pruned time.Time
}

// state is what a key's mark says.
type state int

const (
	// absent: no call with this key has come as far as its rename.
	absent state = iota
	// begun: the rename may have happened.
	begun
	// done: it happened, and this was the answer.
	done
	// barred: reconcile has forbidden it for good.
	barred
)

// forgotten reports whether the mark of a call may have been removed by now: then its absence proves nothing.
func (m *marks) forgotten(call connector.Call) bool {
	return call.StartedAt.IsZero() || time.Since(call.StartedAt) > keepMarks-24*time.Hour
}

// names returns the names of a key's mark and of its content before the rename.
func (m *marks) names(key string) (mark, content string) {
	sum := sha256.Sum256([]byte(key))
	mark = filepath.Join(markFolder, hex.EncodeToString(sum[:16]))
	return mark, mark + ".new"
}

// prepare makes the folder and, now and then, removes old marks.
func (m *marks) prepare(now time.Time) error {
	err := m.dir.Root.Mkdir(markFolder, 0o755)
	if err == nil {
		err = m.dir.SyncDir(".")
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.pruned) < pruneEvery {
		return nil
	}
	m.pruned = now
	folder, err := m.dir.Root.Open(markFolder)
	if err != nil {
		return err
	}
	defer folder.Close()
	found, err := folder.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, f := range found {
		name := filepath.Join(markFolder, f.Name())
		if name == filepath.FromSlash(moveLock) || strings.HasSuffix(name, tokenSuffix) {
			continue // a token is as old as the file that is moved, and goes with its mark
		}
		if info, err := f.Info(); err == nil && now.Sub(info.ModTime()) > keepMarks {
			// One that stays is tried again next time.
			_ = errors.Join(m.dir.Root.Remove(name+tokenSuffix), m.dir.Root.Remove(name))
		}
	}
	return nil
}

// read says what is known about a key. answer is the first answer of a call that is done.
func (m *marks) read(mark string) (s state, answer json.RawMessage, err error) {
	text, err := m.dir.Root.ReadFile(mark)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent, nil, nil
	case err != nil:
		return absent, nil, err
	case string(text) == refused:
		return barred, nil, nil
	case json.Valid(text):
		return done, text, nil
	default:
		return begun, nil, nil // empty, or an answer torn by a crash
	}
}

// begin leaves the empty mark, durable before the rename. It fails with fs.ErrExist if there is one.
func (m *marks) begin(mark string) error {
	file, err := m.dir.Root.OpenFile(mark, os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownersAlone)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), m.dir.SyncDir(markFolder))
}

// finish writes the answer into the mark. Losing it is no harm: the file's content tells as well.
func (m *marks) finish(mark string, answer json.RawMessage) error {
	return m.dir.Root.WriteFile(mark, answer, ownersAlone)
}

// bar leaves a mark that forbids the key, whole or not at all. It fails with fs.ErrExist if there
// is a mark already.
func (m *marks) bar(mark string) error {
	temporary := mark + ".bar"
	if err := m.write(temporary); err != nil {
		return err
	}
	err := m.dir.Root.Link(temporary, mark)
	return errors.Join(err, m.dir.Root.Remove(temporary), m.dir.SyncDir(markFolder))
}

// rebar replaces the mark of a call that can no longer happen by one that forbids the key.
func (m *marks) rebar(mark string) error {
	temporary := mark + ".bar"
	if err := m.write(temporary); err != nil {
		return err
	}
	return errors.Join(m.dir.Root.Rename(temporary, mark), m.dir.SyncDir(markFolder))
}

func (m *marks) write(name string) error {
	file, err := m.dir.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, ownersAlone)
	if err != nil {
		return err
	}
	_, err = strings.NewReader(refused).WriteTo(file)
	return errors.Join(err, file.Sync(), file.Close())
}

// ownersAlone is the mode of new files: their owner alone can read them.
const ownersAlone = 0o600
