package sandbox

// check judges what the text of a script shows about the handlers of its definition, and completes the
// definition with what they call. exist are the names of the runtime's global object.
func check(in *inspection, d *Definition, exist []string) []Problem {
	uses, problems := checkHandlers(in, d)
	d.Uses = uses
	problems = append(problems, MutateProblems(d, func(string, string) OperationKind { return "" })...)
	return append(problems, checkNames(in, exist)...)
}
