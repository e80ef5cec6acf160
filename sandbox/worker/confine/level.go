package confine

import (
	"fmt"
	"strings"
)

// Level sums a Report up.
type Level string

// The levels, from the safest.
const (
	// Full: every measure of this package holds.
	Full Level = "full"
	// Partial: some measures hold; Report.Missing names the others.
	Partial Level = "partial"
	// None: the operating system confines nothing. The process boundary is all there is.
	None Level = "none"
)

// ParseLevel reads the name of a level. The error lists the three.
func ParseLevel(text string) (Level, error) {
	switch l := Level(text); l {
	case Full, Partial, None:
		return l, nil
	}
	return "", fmt.Errorf("%q is no sandbox level: write full, partial or none", text)
}

// AtLeast reports whether this level is as safe as another.
func (l Level) AtLeast(other Level) bool { return l.rank() >= other.rank() }

func (l Level) rank() int {
	switch l {
	case Full:
		return 2
	case Partial:
		return 1
	}
	return 0
}

// Report is what Apply achieved.
type Report struct {
	Level Level
	// Missing are the measures that could not be taken, each with its reason.
	Missing []string
}

// String says it for the operator.
func (r Report) String() string {
	if len(r.Missing) == 0 {
		return string(r.Level)
	}
	return string(r.Level) + " (missing: " + strings.Join(r.Missing, "; ") + ")"
}

// Config of a confined process.
type Config struct {
	// Data is the private memory the process may map, in bytes; 0 sets no bound.
	Data int64
}

// measures counts the measures that were taken, and names those that could not be taken.
type measures struct {
	held    int
	missing []string
}

func (m *measures) note(name string, err error) {
	if err != nil {
		m.missing = append(m.missing, name+": "+err.Error())
		return
	}
	m.held++
}

func (m *measures) report() Report {
	switch {
	case len(m.missing) == 0:
		return Report{Level: Full}
	case m.held == 0:
		return Report{Level: None, Missing: m.missing}
	}
	return Report{Level: Partial, Missing: m.missing}
}

// Debug is the GODEBUG with which a process that will be confined should start: the Go runtime then
// keeps no file of the machine's control groups open.
const Debug = "containermaxprocs=0,updatemaxprocs=0"
