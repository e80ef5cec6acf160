package term

import "testing"

// A path is shown from the working directory, but not from the root: there it stays whole.
func TestPath(t *testing.T) {
	for dir, want := range map[string]string{"/": "/var/lib/pawl", "/var": "./lib/pawl", "/usr": "/var/lib/pawl"} {
		t.Chdir(dir)
		if got := Path("/var/lib/pawl"); got != want {
			t.Errorf("in %s: %s, want %s", dir, got, want)
		}
	}
}
