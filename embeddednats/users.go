package embeddednats

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The users of the listener, each with a file of its name that holds its URL.
const (
	// Connector serves tools: it gets the requests to them and answers, nothing else.
	Connector = "connector"
	// Subscriber reads the log and the feed.
	Subscriber = "subscriber"
	// Operator calls the operations and pushes events in.
	Operator = "operator"
)

// ownerOnly is the mode of the files: each holds a password.
const ownerOnly = 0o600

const (
	// maxResponses is how many answers to one request a connector may send. One process may serve
	// several tools over one connection, and all of them answer when services are looked for.
	maxResponses = 256
	// responseTime is how long after a request they may come: a late answer is still worth
	// something to a caller who has given up waiting.
	responseTime = time.Hour
)

// Users returns the three users of the listener with their permissions, for subjects that begin
// with prefix ("" means "pawl"). Their passwords are those in the URL files of dir, so that they
// stay the same over restarts; missing ones are generated. WriteURLs writes the files. The log has
// partitions 0 to partitions-1.
func Users(dir, prefix string, partitions int) ([]User, error) {
	if prefix == "" {
		prefix = "pawl"
	}
	streams := []string{strings.ToUpper(prefix) + "_FEED"}
	for i := range partitions {
		streams = append(streams, strings.ToUpper(prefix)+"_LOG_"+strconv.Itoa(i))
	}
	users := []User{
		{
			Name: Connector,
			// Only with a queue group (the second word): without one a listener could read
			// along, or two instances could both carry out one request.
			Subscribe: []string{prefix + ".tool.> >", "$SRV.>"},
			Publish:   []string{}, Respond: true,
		},
		{
			Name:      Subscriber,
			Subscribe: []string{"_INBOX.>"}, Publish: []string{"$JS.API.>", "$JS.ACK.>"},
			Streams: streams,
		},
		{
			Name:      Operator,
			Subscribe: []string{"_INBOX.>"},
			Publish:   []string{prefix + ".api.>", prefix + ".in.>", "$SRV.PING", "$SRV.PING.>", "$SRV.INFO", "$SRV.INFO.>", "$SRV.STATS", "$SRV.STATS.>"},
		},
	}
	for i := range users {
		password, err := savedPassword(dir, users[i].Name)
		if err != nil {
			return nil, err
		}
		if password == "" {
			password = rand.Text()
		}
		users[i].Password = password
	}
	return users, nil
}

func urlFile(dir, name string) string { return filepath.Join(dir, name+".url") }

// savedPassword reads the password from a URL file; empty without one.
func savedPassword(dir, name string) (string, error) {
	path := urlFile(dir, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the password of NATS user %s: %w", name, err)
	}
	// Its words are not repeated: they may hold the password.
	u, err := url.Parse(strings.TrimSpace(string(text)))
	if err == nil && u.User != nil && u.User.Username() == name {
		if password, ok := u.User.Password(); ok && password != "" {
			return password, nil
		}
	}
	return "", fmt.Errorf("read the password of NATS user %s: %s does not hold a URL like nats://%s:password@host:port; delete it to get a new password", name, path, name)
}

// WriteURLs writes a file NAME.url for each user of the listener, with a complete URL, readable
// by the owner only. A file appears whole or not at all, also over a crash.
func (s *Server) WriteURLs(dir string) error {
	address := s.nats.Addr()
	if address == nil || len(s.users) == 0 {
		return errors.New("write NATS URLs: the server has no listener with users")
	}
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return fmt.Errorf("write NATS URLs: %w", err)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		// Listening on all addresses: this one works here; on another machine its reader must put
		// this machine's name in its place.
		host = "127.0.0.1"
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write NATS URLs: %w", err)
	}
	for _, u := range s.users {
		address := url.URL{Scheme: "nats", User: url.UserPassword(u.Name, u.Password), Host: net.JoinHostPort(host, port)}
		if err := writeFile(urlFile(dir, u.Name), address.String()+"\n"); err != nil {
			return fmt.Errorf("write the URL of NATS user %s: %w", u.Name, err)
		}
	}
	return nil
}

// writeFile replaces a file by way of a rename, so that a crash leaves the old one or the new one.
func writeFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(ownerOnly), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
