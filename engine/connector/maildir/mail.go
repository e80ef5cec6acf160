package maildir

import (
	"context"
	"os"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/mailparse"
	"github.com/pawl-run/pawl/eventlog"
)

func (c *Connector) get(ctx context.Context, call connector.Call) (any, *eventlog.Failure) {
	var p struct {
		ID      string   `json:"id"`
		Headers []string `json:"headers"`
	}
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return nil, failure
	}
	file, failure := c.find(p.ID)
	if failure != nil {
		return nil, failure
	}
	f, failure := c.dir.OpenRegular(file.path, os.O_RDONLY)
	if failure != nil {
		return nil, failure
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, c.dir.Failure("look at", file.path, err)
	}
	m, err := c.parser.Parse(ctx, mailparse.Source{Content: f, Size: info.Size()}, p.Headers)
	if err != nil {
		return nil, c.notParsed(ctx, call, file, err)
	}
	m.ID = file.id
	return m, nil
}

// readHead reads a mail's headers, or knows them from an earlier listing.
func (c *Connector) readHead(ctx context.Context, call connector.Call, file mailFile) (mailparse.Head,
	*eventlog.Failure) {
	f, failure := c.dir.OpenRegular(file.path, os.O_RDONLY)
	if failure != nil {
		head := mailparse.NewHead(file.id)
		head.Spoil("%s", failure.Message)
		return head, nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return mailparse.Head{}, c.dir.Failure("look at", file.path, err)
	}
	if head, ok := c.heads.Get(file.id, info); ok {
		return head, nil
	}
	head, err := c.parser.Head(ctx, mailparse.Source{Content: f, Size: info.Size()})
	if err != nil {
		return head, c.notParsed(ctx, call, file, err)
	}
	head.ID = file.id
	c.heads.put(file.id, info, head)
	return head, nil
}

// notParsed is a failure that says nothing about the mail.
func (c *Connector) notParsed(ctx context.Context, call connector.Call, file mailFile, err error) *eventlog.Failure {
	if failure := connector.ContextFailure(ctx, call); failure != nil {
		return failure
	}
	return c.dir.Fail(eventlog.Transient, "parser", "the mail %s could not be taken apart now: %v", file.id, err)
}
