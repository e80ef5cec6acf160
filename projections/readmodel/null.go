package readmodel

import "encoding/json"

// optional is null in JSON when there is nothing.
func optional[S ~string](s S) *S {
	if s == "" {
		return nil
	}
	return &s
}

// listed is never null in JSON.
func listed[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// raw is null in JSON when there is nothing: an empty RawMessage is no JSON at all.
func raw(m json.RawMessage) json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	return m
}
