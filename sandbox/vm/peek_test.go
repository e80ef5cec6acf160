package vm

import "testing"

// Only the usual options of ctx.peek are read without a decoder; all others are left to it, also those it refuses.
func TestOnlyTheUsualOptionsNeedNoDecoder(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int{`{"limit":1}`: 1, `{"limit":100}`: 100, `{"limit":0}`: 0, `{"limit":-1}`: 0,
		`{"limit":1.5}`: 0, `{"limit":1e+21}`: 0, `{"limit":"3"}`: 0, `{"limit":null}`: 0, `{"limit":{}}`: 0, `{}`: 0,
		`{"limit":1,"after":"a"}`: 0, `{"after":"a","limit":1}`: 0, `{"Limit":1}`: 0, `[]`: 0, `5`: 0} {
		if got, ok := onlyLimit([]byte(raw)); ok != (want > 0) || ok && got != want {
			t.Errorf("%s: %d, %t, want %d", raw, got, ok, want)
		}
	}
}
