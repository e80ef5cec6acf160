// Package amend changes the text of a script at the places that problems name: each change is an [sandbox.Edit], which
// an author, an editor or `pawl validate --fix` applies as it stands.
//
// Guaranteed:
//   - It works on the author's own text, TypeScript included: what is not part of an edit keeps every byte.
//   - An edit is only made where the text at its place is what the caller expects; anything else makes none.
//   - Edits never overlap when they are applied: of two that touch the same text only the first is.
//
// Not guaranteed: that a text is a valid script. It is read as tokens only, by the lexer of tdewolff/parse.
package amend
