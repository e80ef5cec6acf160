package lint

import (
	"fmt"

	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
)

// findings collects what the text of a script shows to be wrong, each thing once.
type findings struct {
	in       *script.Text
	problems []sandbox.Problem
	said     map[sandbox.Problem]bool
}

func newFindings(in *script.Text) *findings {
	return &findings{in: in, said: make(map[sandbox.Problem]bool)}
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
	if !f.said[p] {
		f.said[p] = true
		f.problems = append(f.problems, p)
	}
}
