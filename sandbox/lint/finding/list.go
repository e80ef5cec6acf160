package finding

import (
	"fmt"

	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/amend"
	"github.com/pawl-run/pawl/sandbox/script"
)

// EventShape is an event as the fix of several problems shows it.
const EventShape = `{ messageId: item.id, title: "…", payload: { … } }`

// List collects what the text of a script shows to be wrong, each thing once.
type List struct {
	In       *script.Text
	Problems []sandbox.Problem
	said     map[sandbox.Problem]bool
	// source is the author's text, read when the first edit is made, and edit that of the problem to come.
	source *amend.Source
	edit   sandbox.Edit
}

// New starts the list of one text.
func New(in *script.Text) *List {
	return &List{In: in, said: make(map[sandbox.Problem]bool)}
}

// Amend is the author's text, in which fixes are made.
func (f *List) Amend() *amend.Source {
	if f.source == nil {
		f.source = amend.Read(f.In.Author)
	}
	return f.source
}

// With gives the problem that is reported next the edit that mends it.
func (f *List) With(edit sandbox.Edit) *List {
	f.edit = edit
	return f
}

// Fail reports what cannot work when it is reached.
func (f *List) Fail(code string, at file.Idx, fix, format string, args ...any) {
	f.add(sandbox.NewProblem(code, f.In.Position(at), sandbox.Clip(fmt.Sprintf(format, args...), sandbox.MaxMessage),
		sandbox.Clip(fix, sandbox.MaxMessage)))
}

// Warn reports what an author will hardly have meant.
func (f *List) Warn(code string, at file.Idx, fix, format string, args ...any) {
	f.add(sandbox.NewWarning(code, f.In.Position(at), sandbox.Clip(fmt.Sprintf(format, args...), sandbox.MaxMessage),
		sandbox.Clip(fix, sandbox.MaxMessage)))
}

func (f *List) add(p sandbox.Problem) {
	p.Edit, f.edit = f.edit, sandbox.Edit{}
	if !f.said[p] {
		f.said[p] = true
		f.Problems = append(f.Problems, p)
	}
}
