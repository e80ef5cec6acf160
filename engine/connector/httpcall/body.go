package httpcall

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// part is one part of a multipart body.
type part struct {
	Name        string `json:"name"`
	Content     string `json:"content"`
	Encoding    string `json:"encoding"` // of Content: utf8 or base64
	Filename    string `json:"filename"`
	ContentType string `json:"contentType"`
}

// oneBody refuses parameters that give the body in more than one way.
func (p *params) oneBody() *eventlog.Failure {
	given := 0
	for _, is := range []bool{p.Body != nil, p.Text != nil, p.Base64 != nil, p.Form != nil, p.Multipart != nil} {
		if is {
			given++
		}
	}
	if given > 1 {
		return connector.Failf(eventlog.Logic, connector.CodeParams,
			"give the body in one way: as body, text, base64, form or multipart")
	}
	return nil
}

// content is the body as it is sent, and its type where the script names none. The same parameters always give the
// same bytes.
func (p *params) content() (content []byte, contentType string, failure *eventlog.Failure) {
	switch {
	case p.Body != nil:
		return p.Body, "application/json", nil
	case p.Text != nil:
		return []byte(*p.Text), "text/plain; charset=utf-8", nil
	case p.Base64 != nil:
		decoded, err := base64.StdEncoding.DecodeString(*p.Base64)
		if err != nil {
			return nil, "", connector.Failf(eventlog.Logic, connector.CodeParams, "base64: %v", err)
		}
		return decoded, "application/octet-stream", nil
	case p.Form != nil:
		encoded, failure := formEncoded("form", p.Form)
		return []byte(encoded), "application/x-www-form-urlencoded", failure
	case p.Multipart != nil:
		return multipartBody(p.Multipart)
	}
	return nil, "", nil
}

// formEncoded writes fields, sorted by name, as application/x-www-form-urlencoded. A field with a list of values is
// written once for each. What names the parameter for a failure.
func formEncoded(what string, fields map[string]any) (string, *eventlog.Failure) {
	var out strings.Builder
	add := func(name string, value any) {
		if out.Len() > 0 {
			out.WriteByte('&')
		}
		// The value is a string, a json.Number or a bool.
		out.WriteString(url.QueryEscape(name) + "=" + url.QueryEscape(fmt.Sprint(value)))
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		values, several := fields[name].([]any)
		if !several {
			values = []any{fields[name]}
		}
		for _, value := range values {
			switch value.(type) {
			case string, json.Number, bool:
				add(name, value)
			default:
				return "", connector.Failf(eventlog.Logic, connector.CodeParams,
					"%s.%s: want a string, number or boolean, or a list of them", what, name)
			}
		}
	}
	return out.String(), nil
}

// multipartBody writes parts as multipart/form-data. The boundary is a hash of the parts: no part can hold it, and
// the same parts have the same one.
func multipartBody(parts []part) ([]byte, string, *eventlog.Failure) {
	hash := sha256.New()
	decoded := make([][]byte, len(parts))
	for i, p := range parts {
		decoded[i] = []byte(p.Content)
		if p.Encoding == "base64" {
			var err error
			if decoded[i], err = base64.StdEncoding.DecodeString(p.Content); err != nil {
				return nil, "", connector.Failf(eventlog.Logic, connector.CodeParams, "multipart[%d].content is not base64: %v",
					i, err)
			}
		}
		fmt.Fprintf(hash, "%q %q %q %d ", p.Name, p.Filename, p.ContentType, len(decoded[i]))
		hash.Write(decoded[i]) // it never fails
	}
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	if err := w.SetBoundary("pawl-" + hex.EncodeToString(hash.Sum(nil)[:24])); err != nil {
		return nil, "", connector.Failf(eventlog.Internal, connector.CodeParams, "set the boundary: %v", err)
	}
	for i, p := range parts {
		header, failure := partHeader(i, p)
		if failure != nil {
			return nil, "", failure
		}
		into, err := w.CreatePart(header)
		if err == nil {
			_, err = into.Write(decoded[i])
		}
		if err != nil {
			return nil, "", connector.Failf(eventlog.Internal, connector.CodeParams, "write multipart[%d]: %v", i, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", connector.Failf(eventlog.Internal, connector.CodeParams, "end the multipart body: %v", err)
	}
	return out.Bytes(), w.FormDataContentType(), nil
}

func partHeader(i int, p part) (textproto.MIMEHeader, *eventlog.Failure) {
	header := make(textproto.MIMEHeader)
	contentType := p.ContentType
	if p.Filename == "" {
		// The name is quoted as FileContentDisposition does it.
		header.Set("Content-Disposition", strings.TrimSuffix(multipart.FileContentDisposition(p.Name, ""), `; filename=""`))
	} else {
		header.Set("Content-Disposition", multipart.FileContentDisposition(p.Name, p.Filename))
		if contentType == "" {
			contentType = "application/octet-stream"
		}
	}
	if !httpguts.ValidHeaderFieldValue(header.Get("Content-Disposition")) || !httpguts.ValidHeaderFieldValue(contentType) {
		return nil, connector.Failf(eventlog.Logic, connector.CodeParams,
			"multipart[%d]: its name, filename or contentType has characters that no header may have", i)
	}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	return header, nil
}
