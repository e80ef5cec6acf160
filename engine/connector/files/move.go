package files

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/confined"
	"github.com/pawl-run/pawl/eventlog"
)

// lockAgain is how long after a move that did not get the lock it is tried again.
const lockAgain = time.Second

// moveCall is a checked move.
type moveCall struct {
	from, to string
	// mark is the one of the call's key; token is a second name of the file that is moved, which says later which of
	// two names it has.
	mark, token string
	answer      json.RawMessage
}

func (c *Connector) parseMove(call connector.Call) (moveCall, *eventlog.Failure) {
	var p struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return moveCall{}, failure
	}
	m := moveCall{}
	m.mark, _ = c.marks.names(call.Key)
	m.token = m.mark + tokenSuffix
	for _, name := range []struct {
		given string
		clean *string
	}{{p.From, &m.from}, {p.To, &m.to}} {
		clean, failure := c.dir.Clean(name.given)
		if failure != nil {
			return moveCall{}, failure
		}
		if clean == "." {
			return moveCall{}, c.dir.Fail(eventlog.Logic, "path", "the path names the folder itself, not a file in it")
		}
		*name.clean = clean
	}
	if m.from == m.to {
		return moveCall{}, c.dir.Fail(eventlog.Logic, "path", "%s cannot be moved to where it is", m.from)
	}
	answer, err := json.Marshal(map[string]string{"from": filepath.ToSlash(m.from), "to": filepath.ToSlash(m.to)})
	if err != nil {
		return moveCall{}, c.dir.Fail(eventlog.Internal, "io", "cannot describe the move of %s: %v", m.from, err)
	}
	m.answer = answer
	return m, nil
}

// move renames a file to a name that does not exist yet. Up to the rename everything is a definite failure.
func (c *Connector) move(ctx context.Context, call connector.Call) connector.Outcome {
	m, failure := c.parseMove(call)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	lock, failure := c.lockMoves(ctx, call, m)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	defer lock.Close()
	if out, settled := c.repeated(m.mark, m.from, codeNotMoved); settled {
		return out
	}
	if failure := c.checkMove(m); failure != nil {
		return connector.FailedWith(failure)
	}
	if err := c.link(m); err != nil {
		return connector.FailedWith(c.dir.Failure("move", m.from, err))
	}
	if failure := connector.MayLeave(ctx, call); failure != nil {
		return c.notMoved(m, failure)
	}
	if err := c.marks.begin(m.mark); err != nil {
		return c.notMoved(m, c.dir.Failure("mark the move of", m.from, err))
	}
	if err := c.rename(m.from, m.to); err != nil {
		if out, moved := c.notRenamed(m, c.dir.Failure("move "+m.from+" to", m.to, err)); !moved {
			return out
		}
	}
	if err := c.settleMove(m); err != nil {
		return connector.UncertainWith(c.dir.Failure("sync", m.to, err))
	}
	return connector.Outcome{Status: connector.Applied, Result: m.answer}
}

// notRenamed looks where the file is after a rename that answered an error: a file server may have renamed it all the
// same. The lock is held, so nothing else moves it for Pawl. Only a file that is where it was is a definite failure.
func (c *Connector) notRenamed(m moveCall, failure *eventlog.Failure) (out connector.Outcome, moved bool) {
	switch place, err := c.placeOfMoved(m); {
	case err != nil, place == elsewhere:
		failure.Message += "; it is unknown whether the file was moved: look at both paths"
		return connector.UncertainWith(failure), false
	case place == atNew:
		return connector.Outcome{}, true
	}
	if err := c.marks.rebar(m.mark); err != nil {
		failure.Message += "; the file is still there, but this could not be recorded: " + err.Error()
		return connector.UncertainWith(failure), false
	}
	return c.notMoved(m, failure), false
}

// place is where the file of a move that was begun is now.
type place int

const (
	// elsewhere: at neither of the two paths, or at both, which no single rename leaves behind.
	elsewhere place = iota
	atOld
	atNew
)

// placeOfMoved finds the file by its token.
func (c *Connector) placeOfMoved(m moveCall) (place, error) {
	token, err := c.dir.Root.Lstat(m.token)
	if err != nil {
		return elsewhere, err
	}
	switch atFrom, atTo := c.is(m.from, token), c.is(m.to, token); {
	case atFrom && !atTo:
		return atOld, nil
	case atTo && !atFrom:
		return atNew, nil
	}
	return elsewhere, nil
}

// lockMoves waits for the lock of all moves, within the time of the call.
func (c *Connector) lockMoves(ctx context.Context, call connector.Call, m moveCall) (*os.File, *eventlog.Failure) {
	if err := c.marks.prepare(c.now()); err != nil {
		return nil, c.dir.Failure("prepare", markFolder, err)
	}
	file, err := c.dir.Root.OpenFile(moveLock, os.O_RDWR|os.O_CREATE, ownersAlone)
	if err != nil {
		return nil, c.dir.Failure("open", moveLock, err)
	}
	if err := confined.Lock(ctx, file, true); err != nil {
		file.Close()
		if ctx.Err() != nil {
			return nil, connector.HeldBack(ctx, call, lockAgain, "another move is under way, and "+m.from+" was not moved")
		}
		return nil, c.dir.Failure("lock", moveLock, err)
	}
	return file, nil
}

// checkMove makes the folders above the new name, and refuses what cannot be moved.
func (c *Connector) checkMove(m moveCall) *eventlog.Failure {
	info, err := c.dir.Root.Lstat(m.from)
	switch {
	case err != nil:
		return c.dir.Failure("look at", m.from, err)
	case !info.Mode().IsRegular():
		return c.dir.Fail(eventlog.Precondition, "notRegular", "%s is not a regular file and is not moved", m.from)
	}
	if _, err := c.dir.Root.Lstat(m.to); err == nil {
		return c.dir.Fail(eventlog.Precondition, "exists", "%s is there already and is not replaced", m.to)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return c.dir.Failure("look at", m.to, err)
	}
	return c.dir.MakeFolders(m.to)
}

// link gives the file the token as a second name. A token that is there already was left by a call with the same key
// that did not come as far as its mark.
func (c *Connector) link(m moveCall) error {
	if err := c.dir.Root.Remove(m.token); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.dir.Root.Link(m.from, m.token)
}

// notMoved forgets a move that has not happened. The token is of no use any more, and harmless should it stay.
func (c *Connector) notMoved(m moveCall, failure *eventlog.Failure) connector.Outcome {
	_ = c.dir.Root.Remove(m.token)
	return connector.FailedWith(failure)
}

// settleMove makes a move durable, and writes its answer down.
func (c *Connector) settleMove(m moveCall) error {
	err := errors.Join(c.dir.SyncDir(filepath.Dir(m.to)), c.dir.SyncDir(filepath.Dir(m.from)), c.dir.SyncDir(markFolder))
	if err != nil {
		return err
	}
	if c.marks.finish(m.mark, m.answer) == nil {
		_ = c.dir.Root.Remove(m.token) // the mark says it now
	}
	return nil
}

// reconcileMove says whether the file was moved. It holds the lock of all moves, so none is under way.
func (c *Connector) reconcileMove(ctx context.Context, call connector.Call) connector.Reconciliation {
	m, failure := c.parseMove(call)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	lock, failure := c.lockMoves(ctx, call, m)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	defer lock.Close()
	known, first, err := c.marks.read(m.mark)
	if err != nil {
		return connector.RetryWith(c.dir.Failure("read the mark of", m.from, err))
	}
	switch {
	case known == done:
		return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: first}
	case known == barred:
		return c.barMove(m, "an earlier check settled this call as failed")
	case known == absent && c.marks.forgotten(call):
		return connector.RetryWith(c.dir.Fail(eventlog.Precondition, "forgotten",
			"the call is so old that its mark may have been removed: it cannot be told whether %s was moved", m.from))
	case known == absent:
		return c.barMove(m, "the move had not begun")
	}
	switch place, err := c.placeOfMoved(m); {
	case err != nil:
		return connector.RetryWith(c.dir.Failure("look at the token of", m.from, err))
	case place == atOld:
		return c.barMove(m, "the file still has its old name")
	case place == elsewhere:
		return connector.RetryWith(c.dir.Fail(eventlog.Precondition, "changed",
			"it cannot be told whether %s was moved to %s: the file is at both paths or at neither; look at both, then "+
				"resolve the mutation", m.from, m.to))
	}
	if err := c.settleMove(m); err != nil {
		return connector.RetryWith(c.dir.Failure("sync", m.to, err))
	}
	return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: m.answer}
}

// is says whether the name is one of the file's.
func (c *Connector) is(name string, file fs.FileInfo) bool {
	info, err := c.dir.Root.Lstat(name)
	return err == nil && os.SameFile(info, file)
}

// barMove forbids a move for good and says that it has failed.
func (c *Connector) barMove(m moveCall, why string) connector.Reconciliation {
	if err := c.marks.rebar(m.mark); err != nil {
		return connector.RetryWith(c.dir.Failure("give up the move of", m.from, err))
	}
	_ = c.dir.Root.Remove(m.token) // the mark says it now
	return connector.Reconciliation{Verdict: connector.VerdictFailed,
		Failure: c.notDone(codeNotMoved, m.from, why)}
}
