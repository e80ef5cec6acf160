package maintain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/pawl-run/pawl/ops/rpc"
)

// Webhook is a maintainer that is asked by a POST of the evidence. It answers 200 with the script, or with a JSON
// object {source, note}.
type Webhook struct {
	url   *url.URL
	token string
}

// unredirected follows no redirect: the evidence and the token are only for the configured address.
var unredirected = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
	return http.ErrUseLastResponse
}}

// NewWebhook refuses an address to which the evidence would be sent unencrypted. The token is sent as a bearer token
// unless it is empty.
func NewWebhook(address, token string) (*Webhook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("it is no complete URL")
	}
	if !rpc.MayCarryToken(u) {
		return nil, errors.New("evidence goes over https only, or to this machine")
	}
	return &Webhook{u, token}, nil
}

// Maintain implements Maintainer.
func (w *Webhook) Maintain(ctx context.Context, workflow string, evidence json.RawMessage) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url.String(), bytes.NewReader(evidence))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", w.url.Host, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Pawl-Workflow", workflow)
	if w.token != "" {
		req.Header.Set("Authorization", "Bearer "+w.token)
	}
	res, err := unredirected.Do(req)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err // the address may hold a secret
		}
		return nil, fmt.Errorf("ask %s: %w", w.url.Host, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of %s: %w", w.url.Host, err)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("ask %s: it answered %s", w.url.Host, res.Status)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("ask %s: it answered more than %d bytes", w.url.Host, maxAnswer)
	}
	return body, nil
}
