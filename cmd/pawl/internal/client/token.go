package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops/rpc"
)

// authenticate gives the client the token for its address: that of PAWL_TOKEN if the caller has named the address, else
// the one in the directory where an engine has written the address down. No file in the working directory decides where
// the caller's own token is sent, and no other token is used instead of the caller's own: it might allow more.
func (c *Connection) authenticate(place httpPlace) error {
	token, given := c.env("PAWL_TOKEN")
	given = given && token != ""
	if given && place.named {
		if !rpc.MayCarryToken(place.url) {
			return exit.Misconfigured("use https, or an address of this machine",
				"PAWL_TOKEN is not sent to %s: it would travel unencrypted", c.Address)
		}
		c.Token = token
		return nil
	}
	if place.data != "" && rpc.MayCarryToken(place.url) {
		path := filepath.Join(place.data, datadir.TokenFile)
		local, err := datadir.TokenFor(place.data, place.address)
		if err == nil {
			// The file stays when an engine is killed, and another program of this machine may have the address now.
			ctx, cancel := context.WithTimeout(c.Ctx, recognizeTime)
			defer cancel()
			switch err = c.Knows(ctx, local); {
			case err == nil:
				if given && token != local {
					return exit.Misconfigured("to use it, name the engine: --url "+c.Address+
						"; to act with the folder's own token, which may do everything, unset PAWL_TOKEN",
						"PAWL_TOKEN is set, and is not sent to the engine of this folder, whose address was not named "+
							"by --url or PAWL_URL; nothing was asked")
				}
				c.Token = local
				return nil
			case errors.Is(err, rpc.ErrNoProof):
				c.Stranger = place.stranger("another program answers")
				return nil
			}
		}
		c.tokenless = fmt.Sprintf("no token was sent: %s: %v", term.Path(path), err)
	}
	if given {
		c.tokenless = fmt.Sprintf("PAWL_TOKEN was not sent: the address (%s) was not named by --url or PAWL_URL", c.from)
	}
	return nil
}

// authenticateNATS finds the token that is sent with requests over NATS: PAWL_TOKEN, if the caller has named the
// server; if not, the command is refused. Without PAWL_TOKEN the rights are those of the NATS user. The token of the
// data directory is never sent, since nothing proves that the server is the engine's own.
func (c *Connection) authenticateNATS(named bool) error {
	address, err := url.Parse(c.NATS.Address())
	if err != nil {
		return err
	}
	encrypted := *address
	if encrypted.Scheme = "http"; address.Scheme == "tls" {
		encrypted.Scheme = "https"
	}
	token, _ := c.env("PAWL_TOKEN")
	switch {
	case token == "":
	case !named: // without the token the request would have the rights of the NATS user, which may be more
		return exit.Misconfigured(
			"to use it, name the server with --nats or PAWL_NATS; to act as the configured NATS user, unset PAWL_TOKEN",
			"PAWL_TOKEN is set, and is not sent to the NATS server of the configuration; nothing was asked")
	case !rpc.MayCarryToken(&encrypted):
		return exit.Misconfigured("use tls, or a server of this machine",
			"PAWL_TOKEN is not sent to %s: it would travel unencrypted", c.NATS.Address())
	default:
		c.Token = token
	}
	return nil
}
