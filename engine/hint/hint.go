package hint

// Code names one thing that can be done.
type Code string

// Hint is a code with the values that its text names. The zero value is no hint.
type Hint struct {
	Code   Code
	Values []any
}

// Of is a hint with its values, as many and in the order as they stand behind the code.
func Of(code Code, values ...any) Hint { return Hint{Code: code, Values: values} }
