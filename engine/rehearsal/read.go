package rehearsal

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/sandbox"
)

//go:embed builder.js
var builder string

// builderLine is the builder on one line, which stands before the first line of a test file. A script that declares a
// Pawl of its own is given no other.
var builderLine = strings.Join(strings.Fields(builder), " ") + "\n"

// authorLine is a line of the test file, of one behind builderLine.
func authorLine(line int) int { return max(line-1, 0) }

// framePlace is where a frame of a stack is.
var framePlace = regexp.MustCompile(`:([0-9]+):[0-9]+`)

// lineOf is the author's line of a fault. For an error that the builder throws it is the line of the builder's caller.
func lineOf(fault *sandbox.Error) int {
	if line := authorLine(fault.Line); line > 0 {
		return line
	}
	for _, frame := range framePlace.FindAllStringSubmatch(fault.Stack, -1) {
		if line, err := strconv.Atoi(frame[1]); err == nil && authorLine(line) > 0 {
			return authorLine(line)
		}
	}
	return 0
}

// maxSuite bounds what a test file declares, in bytes of JSON.
const maxSuite = 16 << 20

// twins refuses a test file in which two members of an object have one name, such as two cases: the first of them
// would be lost in silence.
func twins(ctx context.Context, scripts sandbox.Executor, source sandbox.Source) error {
	_, problems, err := scripts.Describe(ctx, source)
	if err != nil {
		return fmt.Errorf("read the tests: %w", err)
	}
	for _, p := range problems {
		if p.Code == "script.suspicious" && strings.HasPrefix(p.Message, "Duplicate key") {
			return &ReadError{Line: authorLine(p.Line), Message: p.Message + ": only the last one would count, so give each " +
				"case a name of its own"}
		}
	}
	return nil
}

// Read runs a test file, which declares its cases with Pawl.tests. Recorded cases are read from the files beside it.
// Errors: *ReadError for what is its author's to correct.
func Read(ctx context.Context, scripts sandbox.Executor, file sandbox.Source, beside Beside) (Suite, error) {
	limits := sandbox.Limits{State: maxSuite, Source: len(builderLine) + maxSuite}
	source := sandbox.Source{Filename: file.Filename, Code: builderLine + file.Code}
	if err := twins(ctx, scripts, source); err != nil {
		return Suite{}, err
	}
	result, err := scripts.Invoke(ctx, sandbox.Invocation{
		Source: source,
		Phase:  sandbox.Producer, Handler: "tests", Now: Start, Still: true, Limits: limits,
	}, nil)
	var fault *sandbox.Error
	switch {
	case errors.As(err, &fault) && fault.Fault == sandbox.FaultScript:
		message := fault.Message
		if fault.Code == "handler.unknown" {
			message = "the file declares no tests: it ends in export default Pawl.tests({ … })"
		}
		return Suite{}, &ReadError{Line: lineOf(fault), Message: message}
	case err != nil:
		return Suite{}, fmt.Errorf("read the tests: %w", err)
	}
	var suite Suite
	if err := json.Unmarshal(result.Value, &suite); err != nil {
		return Suite{}, &ReadError{Message: fmt.Sprintf("the tests cannot be read: %v", err)}
	}
	if len(suite.Cases) == 0 {
		return Suite{}, &ReadError{Message: "the file has no cases, so it tests nothing: " +
			"Pawl.tests({ \"what is true\"(t) { … } })"}
	}
	for i := range suite.Cases {
		for j := range suite.Cases[i].Steps {
			suite.Cases[i].Steps[j].Line = authorLine(suite.Cases[i].Steps[j].Line)
		}
	}
	return suite, suite.load(ctx, scripts, beside)
}

// ReadYAML reads a test file in YAML. Each step is written as the TypeScript form writes it, on its own line, and is
// read as that is: both forms have the same rules. Errors: as those of Read.
func ReadYAML(ctx context.Context, scripts sandbox.Executor, file sandbox.Source, beside Beside) (Suite, error) {
	declared, err := translate(file.Code)
	if err != nil {
		return Suite{}, err
	}
	return Read(ctx, scripts, sandbox.Source{Filename: file.Filename + ".js", Code: declared}, beside)
}

// Beside reads a file that stands beside a test file, by its name. Nil is for a test file that stands alone.
type Beside func(name string) (text string, err error)

// IsYAML reports whether a file of this name is in the YAML form.
func IsYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// load replaces each step that names a recorded case by what that case is given and does. The case with the step says
// what is expected, and what it is given itself comes before what the recorded case is given.
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
