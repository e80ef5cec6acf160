package eventlog

// FactType names a kind of fact: entity and past participle, in exactly two tokens. It is part
// of the stored format and of subjects.
type FactType string

// Fact is something that became true of a workflow. Facts are explicit: applying them needs no
// decision and no lookup, so a later change of policy never rewrites history.
type Fact interface {
	FactType() FactType
}

// versioned is a fact whose later versions only add fields that may be left out.
type versioned interface {
	// needs is the lowest version that says all that the fact says.
	needs() int
}
