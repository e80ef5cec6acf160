package jslog

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// DefaultPrefix is the first token of all subjects, and in capitals of all stream names.
const DefaultPrefix = "pawl"

var prefixPattern = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// StreamName is the name of a partition's stream in a log whose subjects begin with the prefix; empty means
// DefaultPrefix.
func StreamName(prefix string, partition int) string {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	return names{prefix}.stream(partition)
}

// names builds every name that this package uses in NATS.
type names struct{ prefix string }

func (n names) stream(partition int) string {
	return strings.ToUpper(n.prefix) + "_LOG_" + strconv.Itoa(partition)
}

func (n names) all(partition int) string {
	return n.prefix + ".log." + strconv.Itoa(partition) + ".>"
}

// fence is the one function that builds a workflow's fence. A cluster compares in-flight fences
// as strings: two spellings of the same set of subjects would not see each other and lose updates.
func (n names) fence(partition int, w eventlog.WorkflowName) string {
	return n.prefix + ".log." + strconv.Itoa(partition) + "." + string(w) + ".>"
}

func (n names) subject(partition int, w eventlog.WorkflowName, kind eventlog.FactType) string {
	return n.prefix + ".log." + strconv.Itoa(partition) + "." + string(w) + "." + string(kind)
}

// holds reports whether a transition of this kind stands on the subject. The subject may end in a name that
// the kind had in an older version.
func (n names) holds(subject string, partition int, w eventlog.WorkflowName, kind eventlog.FactType) bool {
	stored, ok := strings.CutPrefix(subject, n.subject(partition, w, ""))
	return ok && eventlog.PresentName(eventlog.FactType(stored)) == kind
}

// workflow reads the workflow's name out of a subject; empty if it is not one of this log's.
func (n names) workflow(subject string) eventlog.WorkflowName {
	rest, ok := strings.CutPrefix(subject, n.prefix+".log.")
	if !ok {
		return ""
	}
	_, rest, _ = strings.Cut(rest, ".")
	name, _, _ := strings.Cut(rest, ".")
	return eventlog.WorkflowName(name)
}

func checkKind(kind eventlog.FactType) error {
	first, second, ok := strings.Cut(string(kind), ".")
	if !ok || !kindToken(first) || !kindToken(second) {
		return fmt.Errorf("transition kind %q is not two tokens", kind)
	}
	return nil
}

func kindToken(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return s != ""
}

// The metadata of a log's streams.
const (
	metaFormat       = "pawl.format"
	metaPartitions   = "pawl.partitions"
	metaInstallation = "pawl.installation"
	// metaLost lists the sequences whose loss was accepted, metaAside what is there and counts no
	// more, metaEpoch counts the acceptances.
	metaLost  = "pawl.lost"
	metaAside = "pawl.aside"
	metaEpoch = "pawl.epoch"
	// metaUnrecorded lists those of metaLost, and metaEndLost says that more may be lost at the end, while the
	// workflows concerned have no record of it yet. metaNames says that workflows may be lost, names included.
	metaUnrecorded = "pawl.lost.unrecorded"
	metaEndLost    = "pawl.lost.end"
	metaNames      = "pawl.lost.names"
	// metaRestoring names the backup of which the log may hold a part only.
	metaRestoring = "pawl.restoring"
)
