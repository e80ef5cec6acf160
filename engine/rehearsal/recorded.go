package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/sandbox"
)

// Beside reads a file that stands beside a test file, by its name. Nil is for a test file that stands alone.
type Beside func(name string) (text string, err error)

// load puts what a recorded case is given and does in the place of the step that names it. The case that names it
// says what is expected, and what it is given itself counts.
func (s *Suite) load(ctx context.Context, scripts sandbox.Executor, beside Beside) error {
	for i := range s.Cases {
		c := &s.Cases[i]
		at := slices.IndexFunc(c.Steps, func(step Step) bool { return step.Do == DoRecorded })
		if at < 0 {
			continue
		}
		step := c.Steps[at]
		from, recorded, err := step.recorded(ctx, scripts, beside)
		if err != nil {
			return &ReadError{Line: step.Line, Message: err.Error()}
		}
		if c.Clock.IsZero() {
			c.Clock = recorded.Clock
		}
		c.State = merged(recorded.State, c.State)
		c.Grants = merged(recorded.Grants, c.Grants)
		s.Tools = merged(from.Tools, s.Tools)
		s.Vars = merged(from.Vars, s.Vars)
		done := slices.DeleteFunc(slices.Clone(recorded.Steps), func(s Step) bool {
			_, expects := expectations[s.Do]
			return expects
		})
		for j := range done {
			done[j].Line, done[j].FromRecording = step.Line, true
		}
		c.Steps = slices.Replace(c.Steps, at, at+1, done...)
	}
	return nil
}

// merged is the first map, changed by the second.
func merged[M ~map[K]V, K comparable, V any](first, second M) M {
	if len(first) == 0 {
		return second
	}
	all := M{}
	for _, m := range []M{first, second} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// recorded reads the case that the step names, with the suite that holds it.
func (s *Step) recorded(ctx context.Context, scripts sandbox.Executor, beside Beside) (*Suite, *Case, error) {
	switch {
	case beside == nil:
		return nil, nil, fmt.Errorf("recorded names the file %s, and these tests have no files beside them", s.File)
	case s.File != filepath.Base(s.File) || !IsYAML(s.File):
		return nil, nil, fmt.Errorf("recorded takes a file of this folder with cases in YAML, such as "+
			"\"late.test.yaml\", and got %q", s.File)
	}
	text, err := beside(s.File)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", s.File, err)
	}
	suite, err := ReadYAML(ctx, scripts, sandbox.Source{Filename: s.File, Code: text}, nil)
	var unreadable *ReadError
	switch {
	case errors.As(err, &unreadable):
		return nil, nil, fmt.Errorf("%s, line %d: %s", s.File, unreadable.Line, unreadable.Message)
	case err != nil:
		return nil, nil, err
	}
	if s.Case == "" && len(suite.Cases) == 1 {
		return &suite, &suite.Cases[0], nil
	}
	var names []string
	for i := range suite.Cases {
		if suite.Cases[i].Name == s.Case {
			return &suite, &suite.Cases[i], nil
		}
		names = append(names, suite.Cases[i].Name)
	}
	return nil, nil, fmt.Errorf("recorded names no case of %s; it has %s", s.File, strings.Join(names, ", "))
}

// IsYAML reports whether a file of this name is in the YAML form.
func IsYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}
