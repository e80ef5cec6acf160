package ops

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

// ErrUnreachable: no engine answered at the client's address, or its answer broke off.
var ErrUnreachable = errors.New("engine is not reachable")

// ErrUntrusted: something answers at the client's address, with a certificate that this machine does
// not trust.
var ErrUntrusted = errors.New("its certificate is not trusted")

// Client calls the operations of an engine over HTTP. The zero Client needs a URL only. It is safe
// for concurrent use once its fields are set.
type Client struct {
	// URL of the engine, e.g. http://127.0.0.1:7070.
	URL string
	// Token is sent as a bearer token unless empty.
	Token string
	// Actor is the name the transitions will carry where no token gives one.
	Actor string
	// HTTP is a client without redirects and without a time limit when nil: contexts bound calls.
	HTTP *http.Client
}

// plainHTTP follows no redirect: an engine sends none, and a token must not travel on.
var plainHTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Do calls the operation with its path, query and body fields, given as a map or a struct that
// encodes to one JSON object (nil for none), and decodes the answer into out (nil drops it). Errors:
// *Problem as the engine answered it, ErrUnreachable, ErrUntrusted, the context's; any other error is a misuse.
func (c *Client) Do(ctx context.Context, operationID string, params, out any) error {
	_, err := c.DoStatus(ctx, operationID, params, out)
	return err
}

// DoStatus is Do that also returns the answer's status.
func (c *Client) DoStatus(ctx context.Context, operationID string, params, out any) (int, error) {
	o, ok := Lookup(operationID)
	if !ok {
		return 0, fmt.Errorf("call %s: there is no such operation", operationID)
	}
	req, err := c.request(ctx, &o, params)
	if err != nil {
		return 0, fmt.Errorf("call %s: %w", operationID, err)
	}
	req.Header.Set("Accept", "application/json")
	res, err := c.send(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, c.unreachable(ctx, err)
	}
	if out == nil {
		return res.StatusCode, nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return res.StatusCode, fmt.Errorf("read the answer to %s: %w", operationID, err)
	}
	return res.StatusCode, nil
}

// request builds method, path, query and body from the table.
func (c *Client) request(ctx context.Context, o *Operation, params any) (*http.Request, error) {
	given := map[string]json.RawMessage{}
	if params != nil {
		encoded, err := json.Marshal(params)
		if err != nil {
			return nil, fmt.Errorf("encode the parameters: %w", err)
		}
		if err := json.Unmarshal(encoded, &given); err != nil {
			return nil, fmt.Errorf("the parameters are no object: %w", err)
		}
	}
	path, query, fields := o.Path, url.Values{}, map[string]json.RawMessage{}
	for name, raw := range given {
		f := o.request.field(name)
		switch {
		case f == nil:
			return nil, fmt.Errorf("it has no parameter %s", name)
		case f.in == inBody:
			fields[name] = raw
		case string(raw) == "null":
		case f.in == inQuery:
			query.Set(name, plainText(raw))
		case f.in == inPath:
			path = strings.ReplaceAll(path, "{"+name+"}", escapeSegment(plainText(raw)))
		}
	}
	if strings.Contains(path, "{") {
		return nil, fmt.Errorf("%s is not complete: a parameter is missing", path)
	}
	address := strings.TrimSuffix(c.URL, "/") + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var body io.Reader
	if len(fields) > 0 {
		encoded, err := json.Marshal(fields)
		if o.ingress {
			encoded = fields["events"]
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

// plainText is a scalar's text as it stands in a path or query.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// escapeSegment makes one segment of any text: dots alone would be taken for a relative path.
func escapeSegment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}

// send returns a successful response, or the problem.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	if c.Token != "" {
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

func (c *Client) unreachable(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err // the address is in this error already
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return fmt.Errorf("connect to %s: %w: %w", c.URL, ErrUntrusted, certificate.Err)
	}
	return fmt.Errorf("%w at %s: %w", ErrUnreachable, c.URL, err)
}

// problemFrom reads a problem document; what answers otherwise is no engine, or stands before one.
func problemFrom(res *http.Response) error {
	const most = 1 << 20
	body, err := io.ReadAll(io.LimitReader(res.Body, most))
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	p := &Problem{}
	if err == nil && media == problemType && json.Unmarshal(body, p) == nil {
		return p
	}
	return problemf(res.StatusCode, "answer.foreign", "%s answered %s without saying why", res.Request.URL.Host, res.Status).
		hint("is this the address of a pawl engine?")
}
