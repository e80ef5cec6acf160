package rpc

import "testing"

func TestSemver(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"1.2.3": "1.2.3", "v0.1.0": "0.1.0", "v1.2.3-rc.1+abc": "1.2.3-rc.1+abc", "devel": "0.0.0", "": "0.0.0",
		"(devel)":                            "0.0.0",
		"v0.0.0-20260101000000-abcdef123456": "0.0.0-20260101000000-abcdef123456",
	} {
		if got := semver(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}
