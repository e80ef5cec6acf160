package datadir

import (
	"os"
	"path/filepath"
	"testing"
)

// Refresh tokens are kept for their owner alone, the newest of each, and one that was never replaced is none.
func TestRefreshTokens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := RefreshTokens(dir)
	if token, err := kept.Load("a"); token != "" || err != nil {
		t.Errorf("before any: %q, %v", token, err)
	}
	for _, token := range []string{"one", "two"} {
		if err := kept.Save("a", token); err != nil {
			t.Fatal(err)
		}
		if got, err := RefreshTokens(dir).Load("a"); got != token || err != nil {
			t.Errorf("%q, %v, want %s", got, err, token)
		}
	}
	for path, want := range map[string]os.FileMode{"oauth": 0o700, "oauth/a.token": 0o600} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if err := RefreshTokens(filepath.Join(dir, "none")).Save("a", "three"); err == nil {
		t.Error("kept in a folder that is not there")
	}
}
