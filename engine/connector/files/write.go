package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// writeCall is a checked write.
type writeCall struct {
	path string
	data []byte
}

func (w writeCall) answer() (json.RawMessage, error) {
	sum := sha256.Sum256(w.data)
	return json.Marshal(map[string]any{"path": filepath.ToSlash(w.path), "size": len(w.data),
		"sha256": hex.EncodeToString(sum[:])})
}

func (c *Connector) parseWrite(call connector.Call) (writeCall, json.RawMessage, *eventlog.Failure) {
	p := struct {
		Path     string `json:"path"`
		Content  string `json:"content"`
		Encoding string `json:"encoding"`
	}{Encoding: "utf8"}
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return writeCall{}, nil, failure
	}
	name, failure := c.dir.Clean(p.Path)
	if failure != nil {
		return writeCall{}, nil, failure
	}
	if name == "." {
		return writeCall{}, nil, c.dir.Fail(eventlog.Logic, "path",
			"the path names the folder itself, not a file in it")
	}
	data := []byte(p.Content)
	if p.Encoding == "base64" {
		decoded, err := base64.StdEncoding.DecodeString(p.Content)
		if err != nil {
			return writeCall{}, nil, c.dir.Fail(eventlog.Logic, "encoding", "content is not base64: %v", err)
		}
		data = decoded
	}
	if len(data) > maxFile {
		return writeCall{}, nil, c.dir.Fail(eventlog.Logic, "tooBig",
			"content has %d bytes, the limit for one write is %d", len(data), maxFile)
	}
	w := writeCall{path: name, data: data}
	answer, err := w.answer()
	if err != nil {
		return writeCall{}, nil, c.dir.Fail(eventlog.Internal, "io", "cannot describe the write of %s: %v", name, err)
	}
	return w, answer, nil
}

// write writes a file. Up to the rename everything is a definite failure.
func (c *Connector) write(ctx context.Context, call connector.Call) connector.Outcome {
	w, answer, failure := c.parseWrite(call)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	mark, content := c.marks.names(call.Key)
	if err := c.marks.prepare(c.now()); err != nil {
		return connector.FailedWith(c.dir.Failure("prepare", markFolder, err))
	}
	if out, settled := c.repeated(mark, w.path, codeNotWritten); settled {
		return out
	}
	mode, failure := c.checkPlace(w.path)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	if err := c.writeContent(content, w.data, mode); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return connector.UncertainWith(c.dir.Fail(eventlog.Transient, "busy",
				"%s: a write with the same key is under way", w.path))
		}
		return connector.FailedWith(c.dir.Failure("write", w.path, errors.Join(err, c.dir.Root.Remove(content))))
	}
	if failure := connector.MayLeave(ctx, call); failure != nil {
		return c.giveUp(content, failure)
	}
	if err := c.marks.begin(mark); err != nil {
		// Reconcile was faster and has forbidden the key, or the disk is full.
		return c.giveUp(content, c.dir.Failure("mark the write of", w.path, err))
	}
	// A crash from here on: `.new` still there means not written, and reconcile takes it away.
	if err := c.dir.Root.Rename(content, w.path); err != nil {
		return c.giveUp(content, c.dir.Failure("write", w.path, err))
	}
	if err := errors.Join(c.dir.SyncDir(filepath.Dir(w.path)), c.dir.SyncDir(markFolder)); err != nil {
		return connector.UncertainWith(c.dir.Failure("sync", w.path, err))
	}
	// The write is durable by now. Should the mark not get its answer, a reconcile looks at the
	// file's content instead.
	_ = c.marks.finish(mark, answer)
	return connector.Outcome{Status: connector.Applied, Result: answer}
}

// giveUp removes the content, so that nothing can rename it any more. Only if that is sure is the
// failure definite.
func (c *Connector) giveUp(content string, failure *eventlog.Failure) connector.Outcome {
	if err := c.dir.Root.Remove(content); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return connector.UncertainWith(failure)
	}
	return connector.FailedWith(failure)
}

// checkPlace makes the folders above a file, and refuses to replace what is no regular file. It returns the mode
// that the file is to have: that of the one that is replaced.
func (c *Connector) checkPlace(name string) (fs.FileMode, *eventlog.Failure) {
	if failure := c.dir.MakeFolders(name); failure != nil {
		return 0, failure
	}
	info, err := c.dir.Root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ownersAlone, nil
	case err != nil:
		return 0, c.dir.Failure("look at", name, err)
	case !info.Mode().IsRegular():
		return 0, c.dir.Fail(eventlog.Precondition, "notRegular", "%s is not a regular file and is not replaced", name)
	}
	return info.Mode().Perm(), nil
}

func (c *Connector) writeContent(name string, data []byte, mode fs.FileMode) error {
	file, err := c.dir.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownersAlone)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
}

func (c *Connector) reconcileWrite(call connector.Call) connector.Reconciliation {
	w, answer, failure := c.parseWrite(call)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	if err := c.marks.prepare(c.now()); err != nil {
		return connector.RetryWith(c.dir.Failure("prepare", markFolder, err))
	}
	mark, content := c.marks.names(call.Key)
	known, first, err := c.marks.read(mark)
	if err != nil {
		return connector.RetryWith(c.dir.Failure("read the mark of", w.path, err))
	}
	forgotten := known == absent && c.marks.forgotten(call)
	switch {
	case known == done:
		return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: first}
	case known == barred:
		return connector.Reconciliation{Verdict: connector.VerdictFailed,
			Failure: c.notDone(codeNotWritten, w.path, "an earlier check settled this call as failed")}
	case known == absent && !forgotten:
		if err := c.marks.bar(mark); err != nil {
			if errors.Is(err, fs.ErrExist) {
				err = fmt.Errorf("the writer is still at work: %w", err)
			}
			return connector.RetryWith(c.dir.Failure("give up the write of", w.path, err))
		}
		if err := c.dir.Root.Remove(content); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return connector.RetryWith(c.dir.Failure("give up the write of", w.path, err))
		}
		return connector.Reconciliation{Verdict: connector.VerdictFailed,
			Failure: c.notDone(codeNotWritten, w.path, "it had not begun")}
	case known == begun:
		// The one that removes the content wins: the writer by its rename, or this reconcile.
		if err := c.dir.Root.Remove(content); err == nil {
			if err := c.marks.rebar(mark); err != nil {
				return connector.RetryWith(c.dir.Failure("give up the write of", w.path, err))
			}
			return connector.Reconciliation{Verdict: connector.VerdictFailed,
				Failure: c.notDone(codeNotWritten, w.path, "it had not come to its end")}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return connector.RetryWith(c.dir.Failure("give up the write of", w.path, err))
		}
	}
	return c.compare(mark, w, answer)
}

// compare decides by the content: a file that has the call's content was written. Anything else is open, since another
// program may have written the file after the call did.
func (c *Connector) compare(mark string, w writeCall, answer json.RawMessage) connector.Reconciliation {
	data, failure := c.dir.Read(w.path, maxFile)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	if !bytes.Equal(data, w.data) {
		return connector.RetryWith(c.dir.Fail(eventlog.Precondition, "changed",
			"%s has other content than the call would have written: it cannot be told whether it was written and "+
				"then replaced", w.path))
	}
	if err := c.dir.SyncDir(filepath.Dir(w.path)); err != nil {
		return connector.RetryWith(c.dir.Failure("sync", w.path, err))
	}
	if err := c.marks.finish(mark, answer); err != nil {
		return connector.RetryWith(c.dir.Failure("mark the write of", w.path, err))
	}
	return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: answer}
}
