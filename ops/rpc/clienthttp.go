package rpc

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// overHTTP is a client's transport over HTTP.
type overHTTP Client

// plainHTTP follows no redirect: an engine sends none, and a token must not be sent to another address.
var plainHTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
	return http.ErrUseLastResponse
}}

func (c *overHTTP) call(ctx context.Context, o *Operation, fields map[string]json.RawMessage) (int, []byte, error) {
	req, err := c.request(ctx, o, fields)
	if err != nil {
		return 0, nil, fmt.Errorf("call %s: %w", o.ID, err)
	}
	req.Header.Set("Accept", "application/json")
	res, err := c.send(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, nil, c.unreachable(ctx, err)
	}
	return res.StatusCode, answer, nil
}

// request builds method, path, query and body from the table.
func (c *overHTTP) request(ctx context.Context, o *Operation, given map[string]json.RawMessage) (*http.Request, error) {
	path, query, fields := o.Path, url.Values{}, map[string]json.RawMessage{}
	for name, raw := range given {
		switch f := o.Request.field(name); {
		case f.in == inBody:
			fields[name] = raw
		case string(raw) == "null":
		case f.in == inQuery:
			query.Set(name, plainText(raw))
		case f.in == inPath:
			path = strings.ReplaceAll(path, "{"+name+"}", escapeSegment(plainText(raw)))
		}
	}
	address := strings.TrimSuffix(c.URL, "/") + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var body io.Reader
	if len(fields) > 0 {
		encoded, err := json.Marshal(fields)
		if o.RawBody != "" {
			encoded = fields[o.RawBody]
		}
		if err != nil {
			return nil, fmt.Errorf("encode the body: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, o.Method, address, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// plainText is the text of a scalar for a path or query.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// escapeSegment makes one segment of any text. Dots alone are escaped too, since they would mean a relative path.
func escapeSegment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}

// send returns a successful response, or the problem.
func (c *overHTTP) send(req *http.Request) (*http.Response, error) {
	if c.Token != "" {
		if !MayCarryToken(req.URL) {
			return nil, fmt.Errorf("call %s: %w", c.URL, ErrTokenInClear)
		}
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.Actor != "" {
		req.Header.Set(ActorHeader, c.Actor)
	}
	client := c.HTTP
	if client == nil {
		client = plainHTTP
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, c.unreachable(req.Context(), err)
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	return nil, problemFrom(res)
}

// Installation asks which log the engine at the client's URL belongs to. It sends no token, since the engine needs none
// for that. It is empty where the answer does not say it. Errors are those of Do.
func (c *Client) Installation(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.URL, "/")+"/healthz", nil)
	if err != nil {
		return "", fmt.Errorf("ask which engine it is: %w", err)
	}
	plain := overHTTP{URL: c.URL, HTTP: c.HTTP}
	res, err := plain.send(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	const most = 1 << 16
	body, err := io.ReadAll(io.LimitReader(res.Body, most))
	if err != nil {
		return "", plain.unreachable(ctx, err)
	}
	var said struct {
		Installation string `json:"installation"`
	}
	if json.Unmarshal(body, &said) != nil {
		return "", nil // this is a page of some other program
	}
	return said.Installation, nil
}

func (c *overHTTP) unreachable(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err // the text below has the address already
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return fmt.Errorf("connect to %s: %w: %w", c.URL, ErrUntrusted, certificate.Err)
	}
	return fmt.Errorf("%w at %s: %w", ErrUnreachable, c.URL, err)
}

// problemFrom reads a problem document. Any other answer comes from a program that is no engine, or from a proxy before
// the engine.
func problemFrom(res *http.Response) error {
	const most = 1 << 20
	body, err := io.ReadAll(io.LimitReader(res.Body, most))
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	p := &Problem{}
	if err == nil && media == ProblemType && json.Unmarshal(body, p) == nil {
		return p
	}
	return Problemf(res.StatusCode, "answer.foreign", "%s answered %s without saying why", res.Request.URL.Host,
		res.Status).
		WithHint("is this the address of a pawl engine?")
}
