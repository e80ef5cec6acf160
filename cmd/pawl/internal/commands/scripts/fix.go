package scripts

import (
	"fmt"
	"os"

	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/amend"
)

// maxFixRounds bounds how often a script is mended and checked again: one fix may uncover another problem.
const maxFixRounds = 10

// fix makes the changes that the fixes of a verdict ask for, as long as they help, and writes the file if there are
// any. What the script becomes is checked like the script: the verdict is that of what stands in the file.
func (c *Validate) fix(screen term.Screen, s *source.Script, found verdict,
	judge func(source.Script) (verdict, error)) (verdict, error) {
	mended, found, made, err := mend(*s, found, judge)
	if err != nil || made == 0 {
		return found, err
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(s.Path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.WriteFile(s.Path, mended.Text, mode); err != nil {
		return found, fmt.Errorf("write the mended script: %w", err)
	}
	if !c.JSON {
		fmt.Fprintf(screen.Out, "%s: %d changes made\n", term.Path(s.Path), made)
	}
	*s = mended
	return found, nil
}

// mend applies fixes until none is left that helps. A round after which the script has more errors is undone.
func mend(s source.Script, found verdict, judge func(source.Script) (verdict, error)) (
	mended source.Script, after verdict, made int, err error,
) {
	for range maxFixRounds {
		var edits []sandbox.Edit
		for _, p := range found.Problems {
			if p.Edit != (sandbox.Edit{}) {
				edits = append(edits, p.Edit)
			}
		}
		text, changes := amend.Apply(string(s.Text), edits)
		if changes == 0 || text == string(s.Text) {
			break
		}
		next := s
		next.Text = []byte(text)
		judged, err := judge(next)
		if err != nil {
			return s, found, made, err
		}
		if errorsIn(judged) > errorsIn(found) {
			break
		}
		s, found, made = next, judged, made+changes
	}
	return s, found, made, nil
}

func errorsIn(v verdict) (count int) {
	for _, p := range v.Problems {
		if p.Severity == sandbox.SeverityError {
			count++
		}
	}
	return count
}
