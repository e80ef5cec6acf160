package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/eventlog/durable"
)

// RefreshTokens is a data directory as the keeper of refresh tokens that a server has given in the place of configured
// ones. Each is sealed in a file of its own.
type RefreshTokens string

// refreshTokensDir is their folder in the data directory.
const refreshTokensDir = "oauth"

func (data RefreshTokens) path(configured string) string {
	return filepath.Join(string(data), refreshTokensDir, configured+".token")
}

// Load returns the newest token that took the place of a configured one; empty for none.
func (data RefreshTokens) Load(configured string) (sealed string, err error) {
	token, err := os.ReadFile(data.path(configured))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read a refresh token: %w", err)
	}
	return string(token), nil
}

// Save returns once the token is kept, also over a loss of power.
func (data RefreshTokens) Save(configured, sealed string) error {
	dir := filepath.Join(string(data), refreshTokensDir)
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	} else if err == nil {
		err = durable.SyncDir(string(data))
	}
	if err == nil {
		err = durable.WriteFile(data.path(configured), []byte(sealed))
	}
	if err != nil {
		return fmt.Errorf("keep a refresh token: %w", err)
	}
	return nil
}
