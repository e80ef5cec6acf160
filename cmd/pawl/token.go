package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/ops/rpc"
)

// tokenFile, in the data directory, holds the token that opens the engine there. It is this node's own:
// it is not in the log, and written anew when it is missing.
const tokenFile = "http.token"

// tokenForm is what a token looks like. Commands send nothing else out of a file: what lies there may
// be another secret, put in its place by a link.
var tokenForm = regexp.MustCompile(`^pawl_[A-Z2-7]{26,52}$`)

var errNoToken = errors.New("it holds no token")

// localToken reads the token of the data directory, or makes one. One that others of the machine could
// read is replaced.
func localToken(data string, logger *slog.Logger) (string, error) {
	path := filepath.Join(data, tokenFile)
	token, err := readToken(path)
	switch {
	case err == nil:
		return token, nil
	case errors.Is(err, fs.ErrNotExist):
	default:
		logger.Warn("a new token is written in place of the old one; programs that use the old one must be given the new one", "file", path, "reason", err)
	}
	token = "pawl_" + rand.Text()
	if err := writeFile(path, []byte(token+"\n")); err != nil { // for this user alone
		return "", exit.Failed("", fmt.Errorf("write the token: %w", err))
	}
	return token, nil
}

// readToken reads a token out of a file that is this user's own: no link, and closed to others.
func readToken(path string) (string, error) {
	seen, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !seen.Mode().IsRegular() {
		return "", errors.New("it is no regular file")
	}
	file, err := os.Open(path)
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

// authenticate gives the client the token for its address: what PAWL_TOKEN says if the caller has named
// the address, else the one that lies beside the address that an engine has written down. Nothing that
// lies in the working directory decides where the caller's own token goes.
func (c *connection) authenticate(place httpPlace) error {
	token, given := c.env("PAWL_TOKEN")
	given = given && token != ""
	if given && place.named {
		if !rpc.MayCarryToken(place.url) {
			return exit.Misconfigured("use https, or an address of this machine", "PAWL_TOKEN is not sent to %s: it would travel unencrypted", c.address)
		}
		c.Token = token
		return nil
	}
	if place.data != "" && rpc.MayCarryToken(place.url) {
		path := filepath.Join(place.data, tokenFile)
		local, err := readToken(path)
		if err == nil {
			// The address outlives an engine that was killed, and another program of this machine may have it now.
			ctx, cancel := context.WithTimeout(c.ctx, recognizeTime)
			defer cancel()
			switch err = c.Knows(ctx, local); {
			case err == nil:
				c.Token = local
				return nil
			case errors.Is(err, rpc.ErrNoProof):
				c.stranger = place.stranger("another program answers")
				return nil
			}
		}
		c.tokenless = fmt.Sprintf("no token was sent: %s: %v", shown(path), err)
	}
	if given {
		c.tokenless = fmt.Sprintf("PAWL_TOKEN was not sent: the address (%s) was not named by --url or PAWL_URL", c.from)
	}
	return nil
}

// authenticateNATS finds the token that goes with the requests over NATS: PAWL_TOKEN, for a server that the
// caller has named. Without one the NATS user counts. The token of the data directory is never sent: all operators
// are one NATS user, each can read what is answered to an admin, and a listener is not recognized as an engine's is.
func (c *connection) authenticateNATS(named bool) error {
	address, err := url.Parse(c.NATS.Address())
	if err != nil {
		return err
	}
	encrypted := *address
	if encrypted.Scheme = "http"; address.Scheme == "tls" {
		encrypted.Scheme = "https"
	}
	if token, ok := c.env("PAWL_TOKEN"); ok && named && rpc.MayCarryToken(&encrypted) {
		c.Token = token
	}
	return nil
}
