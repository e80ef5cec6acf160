// Package typings writes TypeScript declarations: those of scripts ([sandbox.Typings]) and, from the JSON schemas of
// their parameters and results, those of connectors.
//
// It guarantees:
//   - A type admits every value that its schema admits, and says no more than TypeScript can: a bound, a pattern or a
//     condition is left out, what nothing describes is `unknown` in parameters and `any` in results, and what cannot be
//     expressed (a reference to elsewhere, `not`) is `unknown`.
//   - What a tool says of itself becomes names, literals and comments only: no text of a schema can end one of them. It
//     is cut to a readable size, however large or deep or often nested the schema is.
//   - The first point has two exceptions, because authors mean their schemas so: members without a `type` beside them
//     are those of an object, and where members are listed, others are admitted only where additionalProperties says
//     so.
package typings
