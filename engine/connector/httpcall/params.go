package httpcall

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/pawl-run/pawl/engine/connector"
)

// params are what a script gives.
type params struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Query   map[string]any    `json:"query"`
	// Body is sent as JSON, byte for byte as the script's value was recorded.
	Body json.RawMessage `json:"body"`
	// Text is sent as it is.
	Text *string `json:"text"`
	// Base64 is sent decoded.
	Base64 *string `json:"base64"`
	// Form is sent as the fields of an HTML form.
	Form map[string]any `json:"form"`
	// Multipart is sent as multipart/form-data.
	Multipart []part `json:"multipart"`
	// IfMatch and IfNoneMatch are the headers of these names: the ETag of an earlier answer, or *.
	IfMatch     *string `json:"ifMatch"`
	IfNoneMatch *string `json:"ifNoneMatch"`
	// Expect are statuses that are results besides those of 2xx.
	Expect []int `json:"expect"`
	// ResponseEncoding is how the body of the result is written: "base64", or as JSON or text.
	ResponseEncoding string `json:"responseEncoding"`
	// Method is that of a read that is no GET.
	Method string `json:"method"`
	// Secret says where named secrets go.
	Secret *placed `json:"secret"`
}

// placed says where a call carries named secrets. Names stand in the parameters, and so in the log; the values are put
// into the request alone.
type placed struct {
	Header map[string]string `json:"header"` // by the header's name
	Query  map[string]string `json:"query"`  // by the parameter's name
	Body   map[string]string `json:"body"`   // by the member's path, e.g. auth.key
	Path   map[string]string `json:"path"`   // by the placeholder's name, {name} in the URL's path
}

// names lists the secrets, each once.
func (p *placed) names() []string {
	if p == nil {
		return nil
	}
	var names []string
	for _, by := range []map[string]string{p.Header, p.Query, p.Body, p.Path} {
		names = slices.AppendSeq(names, maps.Values(by))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// expects says whether an answer of the status is a result.
func (p *params) expects(status int) bool {
	return status >= 200 && status <= 299 || slices.Contains(p.Expect, status)
}

// expectNotModified makes 304 a result of a GET that asks for it.
func (p *params) expectNotModified(call connector.Call) {
	if call.Operation == "get" && p.IfNoneMatch != nil {
		// Clip makes append copy: the array is shared with other calls.
		p.Expect = append(slices.Clip(p.Expect), http.StatusNotModified)
	}
}
