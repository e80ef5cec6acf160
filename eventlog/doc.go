// Package eventlog says what can have happened to a workflow, and how it is kept.
//
// One workflow is one consistency boundary. Everything that happens to it is a [Fact]; facts that
// became true together are one [Transition]; transitions are appended to a [Log], one message
// each, so atomicity needs nothing of the broker. [Installation] is an aggregate like a workflow, for what
// belongs to none: its tokens.
//
// Guaranteed by every [Log] (package jslog keeps one in NATS JetStream, memlog in memory; logtest holds the suite that
// both pass):
//
//   - Append is fenced: a transition is written only if the workflow's [Head] is still the one
//     it was decided on, otherwise [ErrConflict] and nothing is written.
//   - Appending the same entry again settles it: it is written once, whatever happened to the
//     first acknowledgement.
//   - Of a group ([GroupLog]) the first entries are written, in their order, and none behind one that is not.
//   - An acknowledged transition is durable and is read back byte by byte.
//   - Revisions of a workflow are dense (1, 2, 3 …) and each names the hash of the one before.
//
// Not guaranteed: order between workflows, ownership (fencing keeps two engines safe, a lease
// keeps them from getting in each other's way), and protection from a program that may write to
// the store directly.
//
// Type names and versions are for ever. A changed shape gets a new version and an upcast in codec.go; a
// changed name gets an entry in fact.go, and the old name is read for ever and never used again.
// testdata/golden holds one file per type and version as it was first written, testdata/upcast one per retired name,
// with what it is read as now. Files are added to them and never edited.
//
// How do I add a fact type? Declare it in a file *_events.go (its comment is its text in the feed: `go test ./ops/feed
// -run Meanings -update`) and give it a row in fact.go. Raise FormatVersion in format.go and name the type there, so
// that an older binary refuses a log that holds it. Fold it in projections/apply.go; history that its fold looks up is
// asked for by itself (projections/missing.go). engine/decide emits it; decide/remains.go says what a lost record of it
// could have meant. `go test ./eventlog -run Golden -update` writes its golden file. The random histories
// (projections/foldtest) and the simulation have to know it.
package eventlog
