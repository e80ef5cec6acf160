// Package deploy decides whether a script may become a workflow's next version, and what of the
// world outside is pinned with it. It is pure: what a script declares, what the connectors offer
// now and what the workflow holds are arguments.
//
// Guaranteed:
//   - [Check] accepts nothing that carries a problem of severity error, and every problem names
//     its place where it is known and says what to do.
//   - An accepted definition is complete: names are subject-safe, every schedule is due at some
//     time (S2), no topic has two consumers (S8), every operation named in the text is pinned with
//     its kind, schema, timeout and reconcile. The same input gives the same definition.
//   - Parameters of a call that are written out and cannot fit the schema of their operation are a
//     warning, as far as the text shows them; the call itself judges.
//   - A repair keeps the name, all that package kept names, and pins, and needs no new capability (F9).
//   - A grant never becomes wider by a deploy: an operation that starts to mutate asks first.
//
// Not guaranteed: that every operation is found. One that a script reaches by a computed name is in
// no definition, has no pin, and is refused when it is called. [Previous] may also be out of date
// when the deploy is recorded: O9 and archived names are decided then, by package decide; here
// they are warnings.
package deploy
