package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

const testToken = "pawl_ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// dataDir is a data directory with an address and a token.
func dataDir(t *testing.T, address, token string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{URLFile: address + "\n", TokenFile: token + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A token is given out for the address that lies beside it. A link that was moved since the address was read leads to
// another one.
func TestATokenBelongsToTheAddressBesideIt(t *testing.T) {
	const mine, theirs = "http://127.0.0.1:7070", "http://127.0.0.1:6666"
	own := dataDir(t, mine, testToken)
	if token, err := TokenFor(own, mine+"/"); token != testToken || err != nil {
		t.Errorf("its own: %q, %v", token, err)
	}
	strange := dataDir(t, theirs, "pawl_ZZZZZZZZZZZZZZZZZZZZZZZZZZ")
	link := filepath.Join(t.TempDir(), ".pawl")
	if err := os.Symlink(strange, link); err != nil {
		t.Fatal(err)
	}
	address, err := HTTPAddress(link)
	if err != nil || address != theirs {
		t.Fatalf("the address is %q, %v", address, err)
	}
	if err := errors.Join(os.Remove(link), os.Symlink(own, link)); err != nil {
		t.Fatal(err)
	}
	if token, err := TokenFor(link, address); token != "" || !errors.Is(err, errOtherAddress) {
		t.Errorf("the token for the address of another directory: %q, %v", token, err)
	}
}

// What is no file of this user alone holds no token.
func TestFilesThatHoldNoToken(t *testing.T) {
	const address = "http://127.0.0.1:7070"
	for name, spoil := range map[string]func(path string) error{
		"open to others": func(path string) error { return os.Chmod(path, 0o640) },
		"a link": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.Symlink(path+".old", path))
		},
		"another secret": func(path string) error { return os.WriteFile(path, []byte("hunter2\n"), 0o600) },
		"too long": func(path string) error {
			return os.WriteFile(path, []byte(testToken+testToken+testToken), 0o600)
		},
		"gone": os.Remove,
	} {
		dir := dataDir(t, address, testToken)
		if err := spoil(filepath.Join(dir, TokenFile)); err != nil {
			t.Fatal(err)
		}
		if token, err := TokenFor(dir, address); token != "" || err == nil {
			t.Errorf("%s: %q, %v", name, token, err)
		}
	}
}
