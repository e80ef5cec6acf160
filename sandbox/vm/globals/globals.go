package globals

import (
	_ "embed"
	"strings"
)

// Set is a set of globals that goja lacks or gets wrong. Each costs time in every call, so a
// runtime gets only those that its script names; a name that a script puts together at run time
// finds nothing, which is an ordinary ReferenceError.
type Set uint

const (
	Console Set = 1 << iota
	extraStructuredClone
	extraText
	extraBase64
	extraCrypto
	extraLocale
	extraCompare
	extraGroupBy
	extraPromise
	extraRegExp
	extraURL
	extraIterator
	extraSymbols
	extraFromAsync
	extraWellFormed
	extraStackTrace
	extraMicrotask
)

// extraNames are the names in a script's text that ask for an extra.
var extraNames = []struct {
	name  string
	extra Set
}{
	{"console", Console},
	{"structuredClone", extraStructuredClone},
	{"TextEncoder", extraText},
	{"TextDecoder", extraText},
	{"atob", extraBase64},
	{"btoa", extraBase64},
	{"crypto", extraCrypto},
	{"toLocale", extraLocale},
	{"localeCompare", extraCompare},
	{"Intl", extraLocale},
	{"groupBy", extraGroupBy},
	{"withResolvers", extraPromise},
	{"Promise.try", extraPromise},
	{"RegExp", extraRegExp},
	{"URL", extraURL},
	// An iterator comes from one of these; Object.keys(x) and the like have an argument.
	{"Iterator", extraIterator},
	{".keys()", extraIterator},
	{".values()", extraIterator},
	{".entries()", extraIterator},
	{"matchAll", extraIterator},
	{"yield", extraIterator},
	{"Symbol.iterator", extraIterator},
	{"asyncIterator", extraSymbols},
	{"dispose", extraSymbols},
	{"asyncDispose", extraSymbols},
	{"fromAsync", extraFromAsync | extraSymbols},
	{"WellFormed", extraWellFormed},
	{"captureStackTrace", extraStackTrace},
	{"queueMicrotask", extraMicrotask},
}

// Named are the globals that a generated text names.
func Named(code string) Set {
	var found Set
	for _, n := range extraNames {
		if found&n.extra != n.extra && strings.Contains(code, n.name) {
			found |= n.extra
		}
	}
	return found
}
