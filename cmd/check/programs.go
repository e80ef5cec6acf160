package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// programs are the programs outside of Go without which a part of the tests is left out. A test that lacks one is
// skipped, and its reason begins with the name of the program: "no C compiler: …" or "needs a C compiler: …".
var programs = []string{"C compiler", "Chromium", "PostgreSQL", "Node.js", "aiosmtpd", "Dovecot", "promtool", "nats"}

var lackedProgram = regexp.MustCompile(
	`^(?:\S+\.go:\d+: )?(?:no|needs) (?:an? )?(` + strings.Join(programs, "|") + `)\b`)

// lacks is the program whose lack is the reason of a skipped test; empty for another reason.
func lacks(reason string) string {
	if m := lackedProgram.FindStringSubmatch(reason); m != nil {
		return m[1]
	}
	return ""
}

// omissions are the parts of the check that were left out, by their causes.
type omissions map[string][]string

func (o omissions) add(cause, part string) { o[cause] = append(o[cause], part) }

// print names what was left out, one line for each cause.
func (o omissions) print(out io.Writer) {
	for _, cause := range slices.Sorted(maps.Keys(o)) {
		fmt.Fprintf(out, "left out (%s): %s\n", cause, strings.Join(o[cause], ", "))
	}
}

// withoutAll is the cause of an omission that does not happen with -all.
const withoutAll = "without -all"

// missingProgram is the cause of an omission that does not happen where the program is installed.
func missingProgram(program string) string { return "not installed: " + program }

// missingPrograms are the programs without which something was left out.
func (o omissions) missingPrograms() (names []string) {
	for _, program := range programs {
		if len(o[missingProgram(program)]) > 0 {
			names = append(names, program)
		}
	}
	return names
}
