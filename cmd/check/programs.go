package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// programs are those outside of Go without which a part of the tests is left out. A test that lacks one
// skips and begins its reason with its name: "no C compiler: …" or "needs a C compiler: …".
var programs = []string{"C compiler", "Chromium", "PostgreSQL", "Node.js", "aiosmtpd", "Dovecot", "promtool", "nats"}

var lackedProgram = regexp.MustCompile(
	`^(?:\S+\.go:\d+: )?(?:no|needs) (?:an? )?(` + strings.Join(programs, "|") + `)\b`)

// lacks is the program that a test was skipped for; empty if it was skipped for another reason.
func lacks(reason string) string {
	if m := lackedProgram.FindStringSubmatch(reason); m != nil {
		return m[1]
	}
	return ""
}

// omissions are the parts of the check that were left out, by what they were left out for.
type omissions map[string][]string

func (o omissions) add(cause, part string) { o[cause] = append(o[cause], part) }

// print names what was left out, one line for each cause.
func (o omissions) print(out io.Writer) {
	for _, cause := range slices.Sorted(maps.Keys(o)) {
		fmt.Fprintf(out, "left out %s: %s\n", cause, strings.Join(o[cause], ", "))
	}
}

// withoutAll is the cause of an omission that -all ends.
const withoutAll = "without -all"

// wantOf is the cause of an omission that only a program can end.
func wantOf(program string) string { return "for want of a program (" + program + ")" }

// wanting are the programs that something was left out for.
func (o omissions) wanting() (names []string) {
	for _, program := range programs {
		if len(o[wantOf(program)]) > 0 {
			names = append(names, program)
		}
	}
	return names
}
