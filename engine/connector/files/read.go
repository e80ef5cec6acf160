package files

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

func (c *Connector) read(params json.RawMessage) (any, *eventlog.Failure) {
	p := struct {
		Path     string `json:"path"`
		Encoding string `json:"encoding"`
	}{Encoding: "utf8"}
	if failure := connector.DecodeParams(params, &p); failure != nil {
		return nil, failure
	}
	name, failure := c.dir.Clean(p.Path)
	if failure != nil {
		return nil, failure
	}
	data, failure := c.dir.Read(name, maxFile)
	if failure != nil {
		return nil, failure
	}
	info, err := c.dir.Root.Stat(name)
	if err != nil {
		return nil, c.dir.Failure("look at", name, err)
	}
	content := string(data)
	switch {
	case p.Encoding == "base64":
		content = base64.StdEncoding.EncodeToString(data)
	case !utf8.Valid(data):
		return nil, c.dir.Fail(eventlog.Precondition, "encoding", "%s is not UTF-8 text: read it with encoding base64",
			name)
	}
	return map[string]any{
		"path": p.Path, "content": content, "encoding": p.Encoding, "size": len(data),
		"modified": timestamp(info.ModTime()),
	}, nil
}
