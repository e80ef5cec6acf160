package datadir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/eventlog/durable"
)

// TokenFile, in the data directory, holds the token that opens the engine there. It is this node's own:
// it is not in the log, and written anew when it is missing.
const TokenFile = "http.token"

// tokenForm is what a token looks like. Commands send no other content of a file: it may be another secret that a
// link has put in the place of the token.
var tokenForm = regexp.MustCompile(`^pawl_[A-Z2-7]{26,52}$`)

var errNoToken = errors.New("it holds no token")

// Token reads the token of the data directory, or makes one. A token that other users of the machine could read is
// replaced. It fails when the file can be neither read nor written.
func Token(data string, logger *slog.Logger) (string, error) {
	path := filepath.Join(data, TokenFile)
	token, err := ReadToken(path)
	switch {
	case err == nil:
		return token, nil
	case errors.Is(err, fs.ErrNotExist):
	default:
		logger.Warn("a new token is written in place of the old one; programs that use the old one must be given the new one",
			"file", path, "reason", err)
	}
	token = "pawl_" + rand.Text()
	if err := durable.WriteFile(path, []byte(token+"\n")); err != nil { // for this user alone
		return "", exit.Failed(LetWrite(data), fmt.Errorf("write the token: %w", err))
	}
	return token, nil
}

// ReadToken reads a token out of a file that is this user's own: no link, and closed to others. It fails for any
// other file, and for one that holds no token.
func ReadToken(path string) (string, error) {
	data, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	defer func() { _ = data.Close() }()
	return readToken(data, filepath.Base(path))
}

var errOtherAddress = errors.New("the address that lies beside it is another one by now")

// TokenFor reads the token of the data directory for an address that was found there. Both must lie in the same
// directory: its name may be a link. Another user could move that link between the two reads, from a directory with an
// address of their own to the directory with this user's token, which would then be sent to that address.
func TokenFor(dir, address string) (string, error) {
	data, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = data.Close() }()
	text, err := data.ReadFile(URLFile)
	switch {
	case err != nil:
		return "", err
	case strings.TrimSuffix(strings.TrimSpace(string(text)), "/") != strings.TrimSuffix(address, "/"):
		return "", errOtherAddress
	}
	return readToken(data, TokenFile)
}

func readToken(data *os.Root, name string) (string, error) {
	seen, err := data.Lstat(name)
	if err != nil {
		return "", err
	}
	if !seen.Mode().IsRegular() {
		return "", errors.New("it is no regular file")
	}
	file, err := data.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	is, err := file.Stat()
	switch {
	case err != nil:
		return "", err
	case !os.SameFile(seen, is):
		return "", errors.New("it was replaced while it was read")
	case runtime.GOOS != "windows" && is.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("other users of this machine may read it (mode %04o)", is.Mode().Perm())
	}
	const most = 128
	text, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return "", err
	}
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	}
	if !tokenForm.Match(text) {
		return "", errNoToken
	}
	return string(text), nil
}
