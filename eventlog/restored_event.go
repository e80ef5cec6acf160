package eventlog

import "strings"

type (
	// LogRestored: the log up to here was restored from a backup. What was recorded and sent after the backup is not
	// known to it, so nothing of the workflow begins until a person resumes it.
	LogRestored struct {
		// From says where the backup was made.
		From string `msgpack:"from" json:"from"`
		// TakenAt is when it was made.
		TakenAt Instant `msgpack:"takenAt" json:"takenAt"`
		// Generation names this log since it was restored: positions of another generation mean nothing in it.
		Generation string `msgpack:"generation" json:"generation"`
	}
)

// FactType implements Fact.
func (*LogRestored) FactType() FactType { return "log.restored" }

// An installation is named by a random id. A log that was restored from a backup goes on with the id, and has a
// generation beside it: `<id>.<generation>`.

// InstallationID is the part of an installation's name that stays when its log is restored.
func InstallationID(name string) string {
	id, _, _ := strings.Cut(name, ".")
	return id
}

// GenerationOf is the generation in an installation's name, empty for a log that was never restored.
func GenerationOf(name string) string {
	_, generation, _ := strings.Cut(name, ".")
	return generation
}
