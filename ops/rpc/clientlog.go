package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

func (c *overHTTP) log(ctx context.Context, o *Operation, fields map[string]json.RawMessage, follow bool,
	yield func(json.RawMessage, error) bool) {
	req, err := c.request(ctx, o, fields)
	if err != nil {
		yield(nil, err)
		return
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := c.send(req)
	if err != nil {
		yield(nil, err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	err = readEvents(res, yield)
	if errors.Is(err, errStopReading) || errors.Is(err, io.EOF) && !follow {
		return // if the stream was cut off, err is not io.EOF
	}
	yield(nil, c.unreachable(ctx, err))
}

// errStopReading: the caller reads no more.
var errStopReading = errors.New("stop")

// readEvents reads server-sent events as this server writes them, to the end of the stream. The stream of a follower
// ends only when the engine stops.
func readEvents(res *http.Response, yield func(json.RawMessage, error) bool) error {
	r := bufio.NewReader(res.Body)
	var kind string
	var data []byte
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			if len(data) > 0 && !yieldEvent(kind, data, yield) {
				return errStopReading
			}
			kind, data = "", nil
		case string(name) == "event":
			kind = string(value)
		case string(name) == "data":
			data = append(data, value...)
		}
	}
}

func yieldEvent(kind string, data []byte, yield func(json.RawMessage, error) bool) bool {
	if kind != "problem" {
		return yield(data, nil)
	}
	p := &Problem{}
	if err := json.Unmarshal(data, p); err != nil {
		return yield(nil, err)
	}
	return yield(nil, p)
}
