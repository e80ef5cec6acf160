package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/secret"
)

// However a set is printed, no value of it shows.
func TestNoValueIsShown(t *testing.T) {
	t.Parallel()
	s, err := secret.Of([]string{"planted-1", "planted-2"}, []string{"api.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	set := secret.NewSet(map[string]secret.Secret{"GITHUB": s})
	var out bytes.Buffer
	deep := []any{s, &s, map[string]secret.Secret{"a": s}, struct{ inner any }{struct{ s secret.Secret }{s}},
		&struct{ set secret.Set }{set}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+"\n", s, set, deep)
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("x", "secret", s, "set", set)
	}
	text, err := json.Marshal(map[string]any{"s": s, "set": set})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	if shown := out.String(); strings.Contains(shown, "planted") || strings.Contains(shown, "706c616e746564") {
		t.Errorf("a value shows in\n%s", shown)
	}
	if found, ok := set.Lookup("GITHUB"); !ok || !slices.Equal(found.Values(), []string{"planted-1", "planted-2"}) ||
		!slices.Equal(set.Names(), []string{"GITHUB"}) {
		t.Errorf("the values are not given to a caller that asks for them")
	}
}

// A value that could not be a secret is refused, and not repeated.
func TestValuesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, values := range [][]string{nil, {""}, {"a", ""}, {"planted\nb"}, {"planted\x00"}, {"planted\x7f"}} {
		if _, err := secret.Of(values, nil); err == nil || strings.Contains(err.Error(), "planted") {
			t.Errorf("%d values: %v", len(values), err)
		}
	}
}
