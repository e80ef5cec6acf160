package sandbox

// member is one thing a script can ask of ctx (or of console).
type member int

const (
	memberPeek member = iota
	memberGetByIDs
	memberPublish
	memberRegisterInput
	memberList
	memberGet
	memberMutate
	memberLog
	memberNow
	memberConsole
	memberCount
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
var phaseTable = [memberCount][4]rule{
	memberPeek:          {no, yes, no, no},
	memberGetByIDs:      {no, yes, no, no},
	memberPublish:       {yes, no, no, yes},
	memberRegisterInput: {yes, no, no, no},
	memberList:          {yes, yes, no, no},
	memberGet:           {yes, yes, byID, no},
	memberMutate:        {no, no, yes, no},
	memberLog:           {yes, yes, yes, yes},
	memberNow:           {yes, yes, yes, yes},
	memberConsole:       {yes, yes, yes, yes},
}

// builtins are the functions of ctx that are no connector.
var builtins = map[string]member{
	"peek":          memberPeek,
	"getByIds":      memberGetByIDs,
	"publish":       memberPublish,
	"registerInput": memberRegisterInput,
	"log":           memberLog,
	"now":           memberNow,
}

// builtinNames lists them in the order in which messages name them.
var builtinNames = []string{"peek", "getByIds", "publish", "registerInput", "log", "now"}

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

// allowed answers one cell; an unknown phase or member allows nothing.
func allowed(p Phase, m member, readsByID bool) bool {
	c := p.column()
	if c < 0 || m < 0 || m >= memberCount {
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

func (k OperationKind) member() (member, bool) {
	switch k {
	case KindList:
		return memberList, true
	case KindGet:
		return memberGet, true
	case KindMutate:
		return memberMutate, true
	}
	return 0, false
}

// Allowed reports whether a connector operation of this kind may be called in a phase (R6, R8).
// readsByID is the consumer's `mutateReads: "byId"`. Unknown phases and kinds are not allowed.
func Allowed(phase Phase, kind OperationKind, readsByID bool) bool {
	m, ok := kind.member()
	return ok && allowed(phase, m, readsByID)
}

// whereAllowed says in words in which phases a member may be used, for the fix of a message.
func whereAllowed(m member) string {
	switch m {
	case memberPeek, memberGetByIDs:
		return "only prepare may read topics: do it there and return what later phases need in `data`"
	case memberPublish:
		return "only producers and next may publish: move it to next"
	case memberRegisterInput:
		return "only producers may register inputs; what next publishes inherits the inputs of its reserved events"
	case memberList:
		return "only producers and prepare may list or search: do it in prepare and return what is needed in `data`"
	case memberGet:
		return "only producers and prepare may read; mutate may read by id if the consumer declares mutateReads: \"byId\""
	case memberMutate:
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
