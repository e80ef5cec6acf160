package httpcall_test

import (
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// A form is sent as a page of a browser would send it, and a secret can be one of its fields.
func TestAFormIsSentAsFields(t *testing.T) {
	t.Parallel()
	contentType, body := "", ""
	_, address := server(t, func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		contentType, body = r.Header.Get("Content-Type"), string(raw)
	})
	r := client(t, address, withSecret(t, address))
	out := r.Perform(t.Context(), mutation("post", object{"url": "http://" + address + "/charges",
		"form":   object{"amount": 1250, "items[0][price]": "p&1 ü", "tags": []any{"a", true}},
		"secret": object{"body": object{"client.secret": "KEY"}}}))
	wantOutcome(t, out, connector.Applied, "", "")
	want := "amount=1250&client.secret=" + url.QueryEscape(planted) +
		"&items%5B0%5D%5Bprice%5D=p%261+%C3%BC&tags=a&tags=true"
	if contentType != "application/x-www-form-urlencoded" || body != want {
		t.Errorf("%s\n%s, want\n%s", contentType, body, want)
	}
	out = r.Perform(t.Context(), mutation("post", object{"url": "http://" + address + "/charges", "form": object{"k": "v"},
		"secret": object{"body": object{"k": "KEY"}}}))
	wantOutcome(t, out, connector.Failed, eventlog.Logic, connector.CodeParams)
}

// The parts of a multipart body arrive byte for byte, whatever is in them; the same parameters give the same body.
func TestPartsArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	type got struct{ Name, Filename, ContentType, Content string }
	var parts []got
	var bodies []string
	_, address := server(t, func(_ http.ResponseWriter, r *http.Request) {
		parts = nil
		_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil {
			t.Error(err)
			return
		}
		raw, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(raw))
		reader := multipart.NewReader(strings.NewReader(string(raw)), params["boundary"])
		for {
			part, err := reader.NextRawPart()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			content, _ := io.ReadAll(part)
			parts = append(parts, got{part.FormName(), part.FileName(), part.Header.Get("Content-Type"), string(content)})
		}
	})
	r := client(t, address, nil)
	binary := "\x00\xff--pawl-\r\n--\r\n"
	params := object{"url": "http://" + address + "/files", "multipart": []object{
		{"name": "note", "content": "grüße\r\n"},
		{"name": "file", "filename": `a "b".bin`, "content": base64.StdEncoding.EncodeToString([]byte(binary)),
			"encoding": "base64"},
		{"name": "data", "filename": "d.json", "contentType": "application/json", "content": "{}"},
	}}
	for range 2 {
		wantOutcome(t, r.Perform(t.Context(), mutation("post", params)), connector.Applied, "", "")
		want := []got{{"note", "", "", "grüße\r\n"}, {"file", `a "b".bin`, "application/octet-stream", binary},
			{"data", "d.json", "application/json", "{}"}}
		if !reflect.DeepEqual(parts, want) {
			t.Fatalf("got  %q\nwant %q", parts, want)
		}
	}
	if bodies[0] != bodies[1] {
		t.Errorf("the bodies differ:\n%s\n%s", bodies[0], bodies[1])
	}
}

// Bytes are sent as they are, and a body can be given in one way only.
func TestBodiesThatAreBytes(t *testing.T) {
	t.Parallel()
	body, contentType := "", ""
	sent := 0
	_, address := server(t, func(_ http.ResponseWriter, r *http.Request) {
		sent++
		raw, _ := io.ReadAll(r.Body)
		body, contentType = string(raw), r.Header.Get("Content-Type")
	})
	r := client(t, address, withSecret(t, address))
	here := "http://" + address + "/"
	out := r.Perform(t.Context(), mutation("put", object{"url": here, "base64": "AP8=", "headers": object{
		"content-type": "image/png"}}))
	wantOutcome(t, out, connector.Applied, "", "")
	if body != "\x00\xff" || contentType != "image/png" {
		t.Errorf("%q %s", body, contentType)
	}
	one := []object{{"name": "a", "content": "A"}}
	for name, params := range map[string]object{
		"not base64":         {"url": here, "base64": "A?"},
		"not base64 part":    {"url": here, "multipart": []object{{"name": "a", "content": "A?", "encoding": "base64"}}},
		"a type of its own":  {"url": here, "multipart": one, "headers": object{"Content-Type": "x/y"}},
		"a bad type":         {"url": here, "multipart": []object{{"name": "a", "content": "A", "contentType": "a\nb"}}},
		"two ways":           {"url": here, "form": object{"a": "b"}, "text": "x"},
		"nested form":        {"url": here, "form": object{"a": object{"b": "c"}}},
		"a secret in parts":  {"url": here, "multipart": one, "secret": object{"body": object{"k": "KEY"}}},
		"an empty multipart": {"url": here, "multipart": []object{}},
	} {
		if out := r.Perform(t.Context(), mutation("post", params)); out.Status != connector.Failed ||
			out.Failure.Class != eventlog.Logic {
			t.Errorf("%s: %+v", name, out)
		}
	}
	if sent != 1 {
		t.Errorf("%d requests, want one", sent)
	}
}

// An answer's bytes come back as they are in base64, up to a limit; a secret in them is blanked first.
func TestAnswersInBase64(t *testing.T) {
	t.Parallel()
	answer := "\x00\xff not text " + old + "\xfe"
	_, address := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer)
	})
	r := client(t, address, withSecret(t, address))
	params := object{"url": "http://" + address + "/logo", "responseEncoding": "base64"}
	want := `"` + base64.StdEncoding.EncodeToString([]byte("\x00\xff not text ***\xfe")) + `"`
	raw, err := r.Read(t.Context(), mutation("get", params))
	if err != nil || string(decode(t, raw).Body) != want {
		t.Errorf("%v %s, want %s", err, raw, want)
	}
	out := r.Perform(t.Context(), mutation("post", params))
	if out.Status != connector.Applied || string(decode(t, out.Result).Body) != want {
		t.Errorf("%+v %s, want %s", out.Failure, out.Result, want)
	}
	answer = strings.Repeat("\xff", 700<<10)
	if raw, err = r.Read(t.Context(), mutation("get", params)); err != nil || len(decode(t, raw).Body) < 900<<10 {
		t.Errorf("%v: %d bytes", err, len(raw))
	}
	answer += "\xff"
	_, err = r.Read(t.Context(), mutation("get", params))
	if f := failureOf(t, err); f.Code != connector.CodeReadLimit || f.Class != eventlog.Logic {
		t.Errorf("%+v", f)
	}
	answer = strings.Repeat("\xff", 900<<10)
	out = r.Perform(t.Context(), mutation("post", params))
	body := string(decode(t, out.Result).Body)
	if out.Status != connector.Applied || body != `{"truncated":true,"bytes":921600}` {
		t.Errorf("%v %s", out.Status, body)
	}
}
