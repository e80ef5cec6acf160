package eventlog

import (
	"slices"
	"testing"
)

func TestVersionsFollowEachOther(t *testing.T) {
	t.Parallel()
	order := []Version{"x.1", "0.9", "1.0", "1.2", "1.10", "2.0", "10.0"}
	mixed := []Version{"10.0", "1.10", "2.0", "1.0", "x.1", "1.2", "0.9"}
	slices.SortFunc(mixed, Version.Compare)
	if !slices.Equal(mixed, order) {
		t.Errorf("%q, want %q", mixed, order)
	}
	if Version("3.1").Compare("3.1") != 0 {
		t.Error("a version is not the same as itself")
	}
}

func TestF9_NextVersion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		current Version
		repair  bool
		want    Version
	}{{"", false, "1.0"}, {"1.0", false, "2.0"}, {"1.0", true, "1.1"}, {"9.9", true, "9.10"}, {"9.10", false, "10.0"}}
	for _, tt := range tests {
		if got := tt.current.Next(tt.repair); got != tt.want {
			t.Errorf("after %q comes %s, want %s", tt.current, got, tt.want)
		}
	}
}
