package embeddednats

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"github.com/pawl-run/pawl/eventlog/durable"
)

// Tool is a user that serves one connector and nothing else, in an account of its own: no other tool gets
// its requests, or can answer them.
type Tool struct {
	// Name is the connector's, and that of the service on NATS.
	Name     string
	Password string
}

// toolUser, before the tool's name, is the name of its user.
const toolUser = "tool-"

// ErrNoTool means that no tool of the name has a user, ErrToolExists that it has one.
var (
	ErrNoTool     = errors.New("there is no such user")
	ErrToolExists = errors.New("there is one already")
)

var toolName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,127}$`)
})

// toolsDir, below the directory of the URL files, holds those of the tools.
func toolsDir(dir string) string { return filepath.Join(dir, "tools") }

// ToolURLFile is the file that holds the URL of a tool's user.
func ToolURLFile(dir, name string) string { return urlFile(toolsDir(dir), name) }

// AddTool makes a user for a tool and writes its URL to a file below dir, readable by the owner only. The
// address is scheme://host:port. The user stays over restarts, until RemoveTool. Errors: ErrToolExists, a name that no
// tool can have, an address that is none, a file that cannot be written.
func AddTool(dir, name, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("add a user for tool %.80q: %q is no address", name, address)
	}
	u.User = url.UserPassword(toolUser+name, rand.Text())
	err = changeTool(dir, name, func(file string) error {
		if _, err := os.Lstat(file); err == nil {
			return ErrToolExists
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return durable.WriteFile(file, []byte(u.String()+"\n"))
	})
	if err != nil {
		return "", fmt.Errorf("add a user for tool %.80q: %w", name, err)
	}
	return u.String(), nil
}

// RemoveTool takes a tool's user away. A server that runs ends its connections with its next SetTools. Errors:
// ErrNoTool, a name that no tool can have, a file that cannot be removed.
func RemoveTool(dir, name string) error {
	err := changeTool(dir, name, func(file string) error {
		err := os.Remove(file)
		if errors.Is(err, fs.ErrNotExist) {
			return ErrNoTool
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("remove the user of tool %.80q: %w", name, err)
	}
	return nil
}

// Tools reads the tools that have a user. What cannot be read is left out, and the error says why.
func Tools(dir string) ([]Tool, error) {
	entries, err := os.ReadDir(toolsDir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the users of tools: %w", err)
	}
	var tools []Tool
	var errs []error
	for _, entry := range entries {
		name, is := strings.CutSuffix(entry.Name(), ".url")
		if !is || !toolName().MatchString(name) {
			continue
		}
		password, err := savedPassword(toolsDir(dir), name, toolUser+name)
		if err != nil {
			errs = append(errs, err)
		} else if password != "" { // else it was removed a moment ago
			tools = append(tools, Tool{Name: name, Password: password})
		}
	}
	return tools, errors.Join(errs...)
}

// readdress writes the address into the URL files of the tools.
func readdress(dir, scheme, host string) error {
	known, _ := Tools(dir) // what cannot be read stays as it is
	for _, t := range known {
		err := changeTool(dir, t.Name, func(file string) error {
			if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
				return nil // removed meanwhile
			}
			address := url.URL{Scheme: scheme, User: url.UserPassword(toolUser+t.Name, t.Password), Host: host}
			return durable.WriteFile(file, []byte(address.String()+"\n"))
		})
		if err != nil {
			return fmt.Errorf("write the URL of tool %s: %w", t.Name, err)
		}
	}
	return nil
}

// changeTool changes the file of a tool while no other process does.
func changeTool(dir, name string, change func(file string) error) error {
	if !toolName().MatchString(name) {
		return fmt.Errorf("a tool's name must match %s", toolName())
	}
	if err := os.MkdirAll(toolsDir(dir), 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(toolsDir(dir), ".lock"), flock.SetPermissions(ownerOnly))
	if err := lock.Lock(); err != nil {
		return err
	}
	err := change(ToolURLFile(dir, name))
	return errors.Join(err, lock.Unlock())
}
