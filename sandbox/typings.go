package sandbox

import _ "embed"

// Typings is the TypeScript declaration file for authors of scripts.
//
//go:embed types.d.ts
var Typings string

// Guide is the page for authors of scripts.
//
//go:embed SCRIPTS.md
var Guide string
