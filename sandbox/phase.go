package sandbox

// Member is one thing a script can ask of ctx (or of console).
type Member int

const (
	MemberPeek Member = iota
	MemberGetByIDs
	MemberPublish
	MemberRegisterInput
	MemberList
	MemberGet
	MemberMutate
	MemberLog
	MemberNow
	MemberConsole
	MemberScheduledAt
	MemberHash
	MemberCount
)

// rule is one cell of the table.
type rule int

const (
	no   rule = iota
	yes       // allowed
	byID      // allowed where the consumer declared mutateReads: "byId" (R6)
)

// phaseTable is the only place that says which phase may do what (R6, R8). The columns are
// producer, prepare, mutate, next.
var phaseTable = [MemberCount][4]rule{
	MemberPeek:          {no, yes, no, no},
	MemberGetByIDs:      {no, yes, no, no},
	MemberPublish:       {yes, no, no, yes},
	MemberRegisterInput: {yes, no, no, no},
	MemberList:          {yes, yes, no, no},
	MemberGet:           {yes, yes, byID, no},
	MemberMutate:        {no, no, yes, no},
	MemberLog:           {yes, yes, yes, yes},
	MemberNow:           {yes, yes, yes, yes},
	MemberConsole:       {yes, yes, yes, yes},
	MemberScheduledAt:   {yes, no, no, no},
	MemberHash:          {yes, yes, yes, yes},
}

// Builtins are the members of ctx that are no connector: functions, and the value scheduledAt.
var Builtins = map[string]Member{
	"peek":          MemberPeek,
	"getByIds":      MemberGetByIDs,
	"publish":       MemberPublish,
	"registerInput": MemberRegisterInput,
	"log":           MemberLog,
	"now":           MemberNow,
	"hash":          MemberHash,
	"scheduledAt":   MemberScheduledAt,
}

// BuiltinNames lists them in the order in which messages name them.
var BuiltinNames = []string{"peek", "getByIds", "publish", "registerInput", "log", "now", "hash", "scheduledAt"}

func (p Phase) column() int {
	switch p {
	case Producer:
		return 0
	case Prepare:
		return 1
	case Mutate:
		return 2
	case Next:
		return 3
	}
	return -1
}

// MemberAllowed answers one cell; an unknown phase or member allows nothing.
func MemberAllowed(p Phase, m Member, readsByID bool) bool {
	c := p.column()
	if c < 0 || m < 0 || m >= MemberCount {
		return false
	}
	switch phaseTable[m][c] {
	case yes:
		return true
	case byID:
		return readsByID
	case no:
	}
	return false
}

// Member is the row of the phase table for operations of this kind; false for an unknown kind.
func (k OperationKind) Member() (Member, bool) {
	switch k {
	case KindList:
		return MemberList, true
	case KindGet:
		return MemberGet, true
	case KindMutate:
		return MemberMutate, true
	}
	return 0, false
}

// Allowed reports whether a connector operation of this kind may be called in a phase (R6, R8).
// readsByID is the consumer's `mutateReads: "byId"`. Unknown phases and kinds are not allowed.
func Allowed(phase Phase, kind OperationKind, readsByID bool) bool {
	m, ok := kind.Member()
	return ok && MemberAllowed(phase, m, readsByID)
}

// WhereAllowed says in words in which phases a member may be used, for the fix of a message.
func WhereAllowed(m Member) string {
	switch m {
	case MemberPeek, MemberGetByIDs:
		return "only prepare may read topics: do it there and return what later phases need in `data`"
	case MemberPublish:
		return "only producers and next may publish: move it to next"
	case MemberRegisterInput:
		return "only producers may register inputs; what next publishes inherits the inputs of its reserved events"
	case MemberScheduledAt:
		return "only a producer has a schedule: publish the time as a part of the event"
	case MemberList:
		return "only producers and prepare may list or search: do it in prepare and return what is needed in `data`"
	case MemberGet:
		return "only producers and prepare may read; mutate may read by id if the consumer declares " +
			"mutateReads: \"byId\""
	case MemberMutate:
		return "only mutate may change something outside: return what it needs from prepare in `data` and call it there"
	}
	return ""
}

// Phase is the part of a workflow script that one invocation runs.
type Phase string

// The phases of R8's table.
const (
	Producer Phase = "producer"
	Prepare  Phase = "prepare"
	Mutate   Phase = "mutate"
	Next     Phase = "next"
)

// OperationKind mirrors the connector's: "list", "get" or "mutate".
type OperationKind string

// The kinds of connector operations a script can name.
const (
	KindList   OperationKind = "list"
	KindGet    OperationKind = "get"
	KindMutate OperationKind = "mutate"
)
