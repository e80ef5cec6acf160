// Package handler calls the handlers of a workflow's script: it says what goes in with a call, answers what the script
// reads meanwhile, and turns what comes back into the command that reports it.
//
// Guaranteed:
//
//   - Nothing here changes a workflow or sends a mutation. Mutate only names its call; the recorded start sends it.
//   - A script reads only operations that its version has pinned, that are reads, and that are granted.
//   - The class of a failure follows from the type of its error alone (F1, F3).
//   - A call that has failed leaves in the run log what its handler was given.
//
// Not guaranteed: that a handler runs once. Prepare may be called twice for one run when it looks beyond what
// went in with its call.
package handler
