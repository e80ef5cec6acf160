package hint

// Code names one thing that can be done.
type Code string

// Hint is a code with the values that its text names. The zero value is no hint.
type Hint struct {
	Code   Code
	Values []any
}

// Of returns a hint. The values are those listed after the code in code.go, in the same order.
func Of(code Code, values ...any) Hint { return Hint{Code: code, Values: values} }
