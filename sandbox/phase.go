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
	MemberHash
	MemberScheduledAt
	MemberCount
)

// permission is whether a phase may use a member.
type permission int

const (
	no   permission = iota
	yes             // allowed
	byID            // allowed where the consumer declared mutateReads: "byId" (R6)
)

// members is the only place that says which phase may do what (R6, R8).
var members = [MemberCount]struct {
	// builtin is the name of a member of ctx that is no connector: a function, or the value scheduledAt.
	builtin string
	// phases are producer, prepare, mutate, next.
	phases [4]permission
	// where says in words in which phases it may be used; empty for what all may use.
	where string
}{
	MemberPeek:     {"peek", [4]permission{no, yes, no, no}, onlyPrepare},
	MemberGetByIDs: {"getByIds", [4]permission{no, yes, no, no}, onlyPrepare},
	MemberPublish: {"publish", [4]permission{yes, no, no, yes},
		"only producers and next may publish: move it to next"},
	MemberRegisterInput: {"registerInput", [4]permission{yes, no, no, no},
		"only producers may register inputs; what next publishes inherits the inputs of its reserved events"},
	MemberList: {"", [4]permission{yes, yes, no, no},
		"only producers and prepare may list or search: do it in prepare and return what is needed in `data`"},
	MemberGet: {"", [4]permission{yes, yes, byID, no},
		"only producers and prepare may read; mutate may read by id if the consumer declares mutateReads: \"byId\""},
	MemberMutate: {"", [4]permission{no, no, yes, no},
		"only mutate may change something outside: return what it needs from prepare in `data` and call it there"},
	MemberLog:     {"log", [4]permission{yes, yes, yes, yes}, ""},
	MemberNow:     {"now", [4]permission{yes, yes, yes, yes}, ""},
	MemberConsole: {"", [4]permission{yes, yes, yes, yes}, ""},
	MemberHash:    {"hash", [4]permission{yes, yes, yes, yes}, ""},
	MemberScheduledAt: {"scheduledAt", [4]permission{yes, no, no, no},
		"only a producer has a schedule: publish the time as a part of the event"},
}

const onlyPrepare = "only prepare may read topics: do it there and return what later phases need in `data`"

// Builtins are the members of ctx that are no connector, by name. BuiltinNames lists them in the order in which ctx has
// them and messages name them.
var Builtins, BuiltinNames = builtins()

func builtins() (map[string]Member, []string) {
	byName, names := map[string]Member{}, []string{}
	for m := range MemberCount {
		if name := members[m].builtin; name != "" {
			byName[name] = m
			names = append(names, name)
		}
	}
	return byName, names
}

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
	switch members[m].phases[c] {
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
	if m < 0 || m >= MemberCount {
		return ""
	}
	return members[m].where
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
