package maildir

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/mailparse"
	"github.com/pawl-run/pawl/eventlog"
)

// Read performs list and get.
func (c *Connector) Read(ctx context.Context, call connector.Call) (json.RawMessage, error) {
	var result any
	var failure *eventlog.Failure
	switch call.Operation {
	case "list":
		result, failure = c.list(ctx, call)
	case "get":
		result, failure = c.get(ctx, call)
	default:
		failure = c.dir.Fail(eventlog.Internal, "operation", "there is no maildir.%s", call.Operation)
	}
	if failure != nil {
		return nil, failure
	}
	out, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("write the result of maildir.%s: %w", call.Operation, err)
	}
	return out, nil
}

type listResult struct {
	Mails []mailparse.Head `json:"mails"`
	// Next is the `after` of the next page, null at the end.
	Next *string `json:"next"`
}

func (c *Connector) list(ctx context.Context, call connector.Call) (any, *eventlog.Failure) {
	p := struct {
		Folder string `json:"folder"`
		After  string `json:"after"`
		Limit  int    `json:"limit"`
	}{Folder: "both", Limit: 100}
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return nil, failure
	}
	files, failure := c.files(p.Folder)
	if failure != nil {
		return nil, failure
	}
	if p.After != "" {
		// The mail itself may be gone: its id alone says where it stood.
		at, found := position(files, p.After)
		if found {
			at++
		}
		files = files[at:]
	}
	result := listResult{Mails: []mailparse.Head{}}
	size := 0
	enough := connector.PageTime(ctx)
	for i, file := range files {
		if failure := connector.ContextFailure(ctx, call); failure != nil {
			return nil, failure
		}
		if i > 0 && time.Now().After(enough) {
			result.Next = &files[i-1].id
			break
		}
		head, failure := c.readHead(ctx, call, file)
		if failure != nil {
			return nil, failure
		}
		encoded, err := json.Marshal(head)
		if err != nil {
			return nil, c.dir.Fail(eventlog.Internal, "io", "cannot describe the mail %s: %v", file.id, err)
		}
		size += len(encoded) + 1
		if i > 0 && (i == p.Limit || size > connector.PageBytes) {
			result.Next = &files[i-1].id
			break
		}
		result.Mails = append(result.Mails, head)
	}
	return result, nil
}
