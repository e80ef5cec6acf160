package sqlcall

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/engine/connector/publicnet"
	"github.com/pawl-run/pawl/engine/loopback"
)

// maxMessage is the most bytes that one message of a server may have: a row that does not fit a result by far is not
// read into memory.
const maxMessage = 16 << 20

// Ways in which the connection to a server is encrypted, as sslmode writes them. Those that fall back to no encryption
// are not offered.
const (
	sslDisable    = "disable"
	sslRequire    = "require"
	sslVerifyCA   = "verify-ca"
	sslVerifyFull = "verify-full"
)

var sslModes = []string{sslDisable, sslRequire, sslVerifyCA, sslVerifyFull}

// urlKeys are what the query of a URL may say.
var urlKeys = []string{"application_name", "host", "search_path", "sslcert", "sslkey", "sslmode", "sslrootcert"}

// newServer reads the URL of a database of PostgreSQL. Only the configuration decides: the variables PG… of the
// environment and the files of the home directory, which the library would read too, are overruled. No error repeats
// the URL, since it may hold a password.
func newServer(name string, config DatabaseConfig) (*pgx.ConnConfig, error) {
	const want = "want postgres://USER@HOST:PORT/DATABASE"
	u, err := url.Parse(config.URL)
	switch {
	case err != nil:
		return nil, wrong(name, "url", "it cannot be read: %s, and the password by itself, in "+
			"%s.%s.password, where no character needs to be escaped", want, databasesKey, name)
	case u.Scheme != "postgres" && u.Scheme != "postgresql", u.Opaque != "", u.Fragment != "":
		return nil, wrong(name, "url", "%s", want)
	}
	said, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, wrong(name, "url", "what follows the ? cannot be read")
	}
	for _, key := range slices.Sorted(maps.Keys(said)) {
		if !slices.Contains(urlKeys, key) || len(said[key]) != 1 {
			return nil, wrong(name, "url", "after the ? each of these may stand once: %s; not %q",
				strings.Join(urlKeys, ", "), key)
		}
	}
	password, inside := u.User.Password()
	database := strings.TrimPrefix(u.Path, "/")
	host := u.Hostname()
	socket := said.Get("host")
	switch {
	case u.User.Username() == "":
		return nil, wrong(name, "url", "the user is missing: %s", want)
	case database == "":
		return nil, wrong(name, "url", "the database is missing: %s", want)
	case inside && config.Password != "":
		return nil, wrong(name, "password", "the url holds a password too: keep one of them")
	case (host == "") == (socket == ""), strings.Contains(host, ","):
		return nil, wrong(name, "url", "name one host: %s, or postgres://USER@/DATABASE?host=/FOLDER for a socket", want)
	case socket != "" && !strings.HasPrefix(socket, "/"):
		return nil, wrong(name, "url", "host after the ? is the folder of a socket, which begins with /")
	}
	if !inside {
		password = config.Password
	}
	near := socket != "" || loopback.Host(host)
	mode := said.Get("sslmode")
	switch {
	case mode == "" && near:
		mode = sslDisable
	case mode == "":
		mode = sslVerifyFull
	case !slices.Contains(sslModes, mode):
		return nil, wrong(name, "url", "sslmode is one of %s, not %q", strings.Join(sslModes, ", "), mode)
	}
	plain := url.URL{Scheme: "postgres", User: url.User(u.User.Username()), Path: "/" + database}
	all, port := overruled(said, mode), cmp.Or(u.Port(), "5432")
	if socket == "" {
		plain.Host = net.JoinHostPort(host, port)
	} else {
		all.Set("port", port)
	}
	plain.RawQuery = strings.ReplaceAll(all.Encode(), "+", "%20")
	server, err := pgx.ParseConfig(plain.String())
	if err != nil {
		if why := errors.Unwrap(err); why != nil {
			return nil, wrong(name, "url", "it cannot be used: %w", why) // of the plain URL, which has no password
		}
		return nil, wrong(name, "url", "it cannot be used: %s", want)
	}
	server.Password = password
	server.Fallbacks = nil
	server.RuntimeParams = map[string]string{"application_name": "pawl"}
	for _, key := range []string{"application_name", "search_path"} {
		if said.Get(key) != "" {
			server.RuntimeParams[key] = said.Get(key)
		}
	}
	server.MaxProtocolMessageBodyLen = maxMessage
	if !near && (mode == sslDisable || mode == sslRequire) {
		// The server is not verified, so nothing is sent from which the password could be read.
		server.RequireAuth = "scram-sha-256,none"
	}
	if mode == sslDisable && socket == "" && near {
		server.DialFunc = (&net.Dialer{Control: publicnet.LoopbackOnly}).DialContext
	}
	return server, nil
}

// overruled returns the parameters for the library. It sets each one that the library would otherwise take from the
// environment or from files.
func overruled(said url.Values, mode string) url.Values {
	all := url.Values{
		"sslmode": {mode}, "sslnegotiation": {"postgres"}, "sslpassword": {""}, "sslcertmode": {"allow"}, "sslsni": {"1"},
		"sslcert": {""}, "sslkey": {""}, "sslrootcert": {""}, "passfile": {""}, "connect_timeout": {"0"},
		"target_session_attrs": {"any"}, "channel_binding": {"prefer"}, "require_auth": {""},
		"min_protocol_version": {"3.0"}, "max_protocol_version": {"3.0"},
	}
	for _, key := range []string{"host", "sslcert", "sslkey", "sslrootcert"} {
		if said.Get(key) != "" {
			all.Set(key, said.Get(key))
		}
	}
	return all
}
