package vm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/finding"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/similar"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

// reader reads a definition out of a script's default export. Every access may run script code, so
// it works only under the session's deadline and inside Runtime.Try.
type reader struct {
	*session
	text       *script.Text
	workflows  []goja.Value // what Pawl.workflow was called with
	definition sandbox.Definition
	problems   []sandbox.Problem
}

// fail reports a member that could not be read, or, without a path, what is wrong with the whole.
func (r *reader) fail(code, fix string, path []string, format string, args ...any) {
	if len(path) > 0 {
		r.definition.Unread = append(r.definition.Unread, sandbox.PlaceKey(path))
	}
	r.problems = append(r.problems, sandbox.NewProblem(code, r.text.Place(path...),
		sandbox.Clip(fmt.Sprintf(format, args...), sandbox.MaxMessage), fix))
}

// group reads producers or consumers, which may both be absent.
func (r *reader) group(v goja.Value, name, code string) (*goja.Object, bool) {
	if value.Undefined(v) {
		return nil, false
	}
	group, ok := value.AsObject(v)
	if _, callable := goja.AssertFunction(v); !ok || callable || value.IsArray(group) {
		r.fail(code, "write "+name+": { myName: … }", []string{name}, "%s must be an object, and is %s", name,
			value.KindOf(v))
		return nil, false
	}
	return group, true
}

// function reports whether a member is a function; anything else that is present is a problem.
func (r *reader) function(on *goja.Object, path []string, name string) bool {
	v := on.Get(name)
	if value.Undefined(v) {
		return false
	}
	if _, ok := goja.AssertFunction(v); !ok {
		r.fail("shape.consumer", "write async "+name+"(ctx, …) { … }", append(path, name),
			"%s must be a function, and is %s",
			strings.Join(append(path, name), "."), value.KindOf(v))
		return false
	}
	return true
}

// option reads an optional text.
func (r *reader) option(on *goja.Object, path []string, name, code, fix string) string {
	v := on.Get(name)
	if value.Undefined(v) {
		return ""
	}
	if !value.IsText(v) || v.String() == "" {
		r.fail(code, fix, append(path, name), "%s must be a non-empty text, and is %s", strings.Join(append(path, name),
			"."), value.KindOf(v))
		return ""
	}
	return v.String()
}

// flag reads an optional true or false.
func (r *reader) flag(on *goja.Object, path []string, name, code string) bool {
	v := on.Get(name)
	if value.Undefined(v) {
		return false
	}
	set, ok := v.Export().(bool)
	if !ok {
		r.fail(code, "write "+name+": true, or leave it out", append(path, name), "%s must be true or false, and is %s",
			strings.Join(append(path, name), "."), value.KindOf(v))
	}
	return set
}

// names reads an optional array of texts; nil means absent (or wrong, which is a problem).
func (r *reader) names(on *goja.Object, path []string, name, code string) []string {
	v := on.Get(name)
	if value.Undefined(v) {
		return nil
	}
	names := value.Texts(v)
	if names == nil {
		fix := "write " + name + `: ["topic"]`
		if value.IsText(v) && v.String() != "" {
			fix = fmt.Sprintf("write %s: [%q]", name, sandbox.Clip(v.String(), 150))
		}
		r.fail(code, fix, append(path, name), "%s must be an array of topic names, and is %s",
			strings.Join(append(path, name), "."), value.KindOf(v))
		return nil
	}
	return names
}

// misspelt is the fix for a missing member: to rename one that was probably meant to be it.
func (r *reader) misspelt(on *goja.Object, member string, known []string, fix string) string {
	for _, key := range on.Keys() {
		if !slices.Contains(known, key) && similar.Member(key, known) == member {
			return fmt.Sprintf("rename %s to %s", sandbox.Clip(key, 100), member)
		}
	}
	return fix
}

// unknown warns of members that mean nothing, which are usually spelling mistakes. An instance of a class has members
// of its own for its methods: of these only those count that look like mistakes.
func (r *reader) unknown(on *goja.Object, path []string, what string, known ...string) {
	prototype := on.Prototype()
	instance := prototype != nil && prototype.Prototype() != nil
	for _, key := range on.Keys() {
		if slices.Contains(known, key) {
			continue
		}
		// Beyond MaxProblems only a lost member is still looked for, and only while there is no error: warnings alone
		// would not stop the deploy.
		full := len(r.problems) > finding.MaxProblems
		if full && sandbox.HasErrors(r.problems) {
			return
		}
		if lost := r.lost(on, path, key, instance); lost != nil {
			r.problems = append(r.problems, *lost)
			continue
		}
		if full {
			continue
		}
		fix := "remove it, or use one of " + strings.Join(known, ", ")
		if meant := similar.Member(key, known); meant != "" && value.Undefined(on.Get(meant)) {
			fix = fmt.Sprintf("rename %s to %s", sandbox.Clip(key, 100), meant)
		} else if instance {
			continue
		}
		r.problems = append(r.problems, sandbox.NewWarning("shape.unknownKey",
			r.text.Place(append(slices.Clone(path), key)...),
			fmt.Sprintf("%q is no member of %s and has no effect", sandbox.Clip(key, 100), what), fix))
	}
}
