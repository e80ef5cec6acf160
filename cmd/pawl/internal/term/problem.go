package term

import (
	"fmt"

	"github.com/pawl-run/pawl/sandbox"
)

// Problem renders one problem: file:line:column: severity: message, and the fix below.
func Problem(file string, p sandbox.Problem) string {
	place := file
	if p.Line > 0 {
		if place != "" {
			place += ":"
		}
		place += fmt.Sprintf("%d:%d", p.Line, p.Column)
	}
	if place != "" {
		place += ": "
	}
	text := fmt.Sprintf("%s%s: %s [%s]", place, p.Severity, OneLine(p.Message, 1000), p.Code)
	if p.Fix != "" {
		text += "\n  fix: " + OneLine(p.Fix, 1000)
	}
	return text
}
