package lint

import (
	"fmt"

	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/amend"
	"github.com/pawl-run/pawl/sandbox/script"
)

// findings collects what the text of a script shows to be wrong, each thing once.
type findings struct {
	in       *script.Text
	problems []sandbox.Problem
	said     map[sandbox.Problem]bool
	// source is the author's text, read when the first edit is made, and edit that of the problem to come.
	source *amend.Source
	edit   sandbox.Edit
}

func newFindings(in *script.Text) *findings {
	return &findings{in: in, said: make(map[sandbox.Problem]bool)}
}

// amend is the author's text, in which fixes are made.
func (f *findings) amend() *amend.Source {
	if f.source == nil {
		f.source = amend.Read(f.in.Author)
	}
	return f.source
}

// with gives the problem that is reported next the edit that mends it.
func (f *findings) with(edit sandbox.Edit) *findings {
	f.edit = edit
	return f
}

// fail reports what cannot work when it is reached.
func (f *findings) fail(code string, at file.Idx, fix, format string, args ...any) {
	f.add(sandbox.NewProblem(code, f.in.Position(at), sandbox.Clip(fmt.Sprintf(format, args...), sandbox.MaxMessage),
		sandbox.Clip(fix, sandbox.MaxMessage)))
}

// warn reports what an author will hardly have meant.
func (f *findings) warn(code string, at file.Idx, fix, format string, args ...any) {
	f.add(sandbox.NewWarning(code, f.in.Position(at), sandbox.Clip(fmt.Sprintf(format, args...), sandbox.MaxMessage),
		sandbox.Clip(fix, sandbox.MaxMessage)))
}

func (f *findings) add(p sandbox.Problem) {
	p.Edit, f.edit = f.edit, sandbox.Edit{}
	if !f.said[p] {
		f.said[p] = true
		f.problems = append(f.problems, p)
	}
}
