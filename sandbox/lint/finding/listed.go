package finding

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/sandbox"
)

// Sort orders by the author's lines, errors before warnings on the same place; problems
// without a line come first.
func Sort(problems []sandbox.Problem) {
	slices.SortStableFunc(problems, func(a, b sandbox.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Severity, b.Severity))
	})
}

// MaxProblems bounds what is said about one script: more would not be read, and a script must not make a
// description of any size.
const MaxProblems = 100

// Listed are the problems that are said of a script, in the order of the author's lines.
func Listed(problems []sandbox.Problem) []sandbox.Problem {
	explain(problems)
	return First(problems)
}

// First keeps the first problems, errors before warnings, in the order of the author's lines. What an earlier First
// said of how many there are more stays.
func First(problems []sandbox.Problem) []sandbox.Problem {
	var earlier []sandbox.Problem
	problems = slices.DeleteFunc(problems, func(p sandbox.Problem) bool {
		if p.Code == codeMore {
			earlier = append(earlier, p)
		}
		return p.Code == codeMore
	})
	return append(first(problems), earlier...)
}

// codeMore is the code of the warning that says how many problems are not listed.
const codeMore = "script.problems"

func first(problems []sandbox.Problem) []sandbox.Problem {
	Sort(problems)
	more := len(problems) - MaxProblems
	if more <= 0 {
		return problems
	}
	slices.SortStableFunc(problems, func(a, b sandbox.Problem) int { return cmp.Compare(a.Severity, b.Severity) })
	kept := problems[:MaxProblems]
	Sort(kept)
	return append(kept, sandbox.NewWarning(codeMore, sandbox.Place{},
		fmt.Sprintf("%d more problems are not listed", more), "correct those that are listed first"))
}

// explain gives an exception about a name that does not exist the fix that the name has.
func explain(problems []sandbox.Problem) {
	fixes := make(map[sandbox.Place]string)
	for _, p := range problems {
		if p.Code == "global.absent" || p.Code == "global.unknown" {
			fixes[sandbox.Place{Line: p.Line, Column: p.Column}] = p.Fix
		}
	}
	for i, p := range problems {
		if fix := fixes[sandbox.Place{Line: p.Line, Column: p.Column}]; fix != "" && p.Code == "script.threw" {
			problems[i].Fix = fix
		}
	}
}
