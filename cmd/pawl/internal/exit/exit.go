package exit

import "fmt"

// The exit codes. They are part of the interface.
const (
	CodeDone        = 0
	CodeFailed      = 1 // refused or failed
	CodeUsage       = 2 // the command line or the configuration is wrong
	CodeNeedsPerson = 3 // finished, and a workflow waits for a person
	CodeUnreachable = 4 // no engine answers
)

// Failure is an error with its exit code and the next thing to do.
type Failure struct {
	Code int // one of the Code constants
	// What happened, empty where Err says it; Hint is the next thing to do.
	What, Hint string
	Err        error
}

// Error says what happened, without the hint.
func (f *Failure) Error() string {
	switch {
	case f.What == "":
		return f.Err.Error()
	case f.Err == nil:
		return f.What
	}
	return f.What + ": " + f.Err.Error()
}

// Unwrap is the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Failed is a failure of what was asked for.
func Failed(hint string, err error) error { return &Failure{Code: CodeFailed, Hint: hint, Err: err} }

// Misconfigured is a mistake on the command line or in the configuration. The hint says what to do, the rest
// what is wrong; the exit code is 2.
func Misconfigured(hint, format string, args ...any) error {
	return &Failure{Code: CodeUsage, Hint: hint, What: fmt.Sprintf(format, args...)}
}

// Silent ends the command with a code after everything has been said.
type Silent int

// Error names the exit code; it is not printed.
func (s Silent) Error() string { return fmt.Sprintf("exit code %d", int(s)) }
