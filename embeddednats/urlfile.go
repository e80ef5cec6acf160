package embeddednats

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// ownerOnly is the mode of the files: each holds a password.
const ownerOnly = 0o600

func urlFile(dir, name string) string { return filepath.Join(dir, name+".url") }

// savedPassword reads the user's password from a URL file; empty without one.
func savedPassword(dir, file, user string) (string, error) {
	path := urlFile(dir, file)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the password of NATS user %s: %w", user, err)
	}
	// The text of the error is not repeated: it may hold the password.
	u, err := url.Parse(strings.TrimSpace(string(text)))
	if err == nil && u.User != nil && u.User.Username() == user {
		if password, ok := u.User.Password(); ok && password != "" {
			return password, nil
		}
	}
	return "", fmt.Errorf("read the password of NATS user %s: %s does not hold a URL like "+
		"nats://%s:password@host:port; delete it to get a new password", user, path, user)
}
