package hook_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/eventlog"
)

func request(body, contentType, query string, headers ...string) *hook.Request {
	r := &hook.Request{Method: "POST", URL: "https://x.example/hooks/w/h?" + query, RawQuery: query,
		Header: http.Header{"Content-Type": {contentType}}, Body: []byte(body)}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// What a request becomes: templates take texts, numbers as they are written and flags; the payload is what was sent.
func TestEventOfARequest(t *testing.T) {
	t.Parallel()
	const jsonType = "application/json; charset=utf-8"
	for name, c := range map[string]struct {
		hook               eventlog.Hook
		request            *hook.Request
		id, title, payload string
	}{
		"JSON": {
			eventlog.Hook{ID: "{body:a.b}/{header:x-id}", Title: "{body:list.1.name} of {query:who}", Headers: []string{"X-Id",
				"X-None"}},
			request(` {"a":{"b":12345678901234567890},"list":[0,{"name":"<é>"}]} `, jsonType, "who=ann&n=1&n=2", "X-Id", "7"),
			"12345678901234567890/7", "<é> of ann",
			`{"method":"POST","query":{"n":["1","2"],"who":"ann"},"headers":{"X-Id":"7"},"contentType":"application/json",` +
				`"body":{"a":{"b":12345678901234567890},"list":[0,{"name":"<é>"}]}}`,
		},
		"a form": {
			eventlog.Hook{ID: "{body:user.name}", Title: "{body:text}"},
			request("user.name=ann&text=a%0Ab&tag=x&tag=y", form, ""),
			"ann", "a b",
			`{"method":"POST","query":{},"headers":{},"contentType":"application/x-www-form-urlencoded",` +
				`"body":{"tag":["x","y"],"text":"a\nb","user.name":"ann"}}`,
		},
		"text": {
			eventlog.Hook{ID: "{hash}", Title: "{body:none}"}, request("hello", "text/plain", ""),
			"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
			"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
			`{"method":"POST","query":{},"headers":{},"contentType":"text/plain","body":"hello"}`,
		},
		"bytes": {
			eventlog.Hook{ID: "{query:id}", Title: "bytes"}, request("\x00\xff", "application/octet-stream", "id=a"),
			"a", "bytes",
			`{"method":"POST","query":{"id":"a"},"headers":{},"contentType":"application/octet-stream","body":"AP8=",` +
				`"encoding":"base64"}`,
		},
		"nothing but a query, without its token": {
			eventlog.Hook{ID: "{hash}", Title: "t", Verify: eventlog.HookVerify{Scheme: "token", Secret: "T", Query: "key"}},
			request("", "", "key=planted&a=1"),
			"c22fea5d7428e5cf47ef6354c97c9223c95d6dcdc3e0d2300ff79056b1ff3d85", "t",
			`{"method":"POST","query":{"a":"1"},"headers":{},"contentType":"","body":null}`,
		},
		"a later member of the same name counts": {
			eventlog.Hook{ID: "{body:id}", Title: "{body:ok}"}, request(`{"id":"a","id":"b","ok":true}`, jsonType, ""),
			"b", "true",
			`{"method":"POST","query":{},"headers":{},"contentType":"application/json","body":{"id":"a","id":"b","ok":true}}`,
		},
	} {
		if c.request.Header.Get("Content-Type") == "" {
			c.request.Header.Del("Content-Type")
		}
		got, err := hook.EventOf(&c.hook, c.request)
		if err != nil || string(got.MessageID) != c.id || got.Title != c.title || string(got.Payload) != c.payload {
			t.Errorf("%s: %v\n got %q %q %s\nwant %q %q %s", name, err, got.MessageID, got.Title, got.Payload, c.id, c.title,
				c.payload)
		}
	}
	byQuery := eventlog.Hook{ID: "{hash}", Title: "t"}
	one, _ := hook.EventOf(&byQuery, request("", "text/plain", "a=1"))
	other, _ := hook.EventOf(&byQuery, request("", "text/plain", "a=2"))
	if one.MessageID == other.MessageID || len(one.MessageID) != 64 {
		t.Errorf("the hash of requests without a body is %q and %q", one.MessageID, other.MessageID)
	}
	// A token that is replaced does not make another event of the same request, however its name is written.
	byQuery.Verify = eventlog.HookVerify{Scheme: "token", Secret: "T", Query: "key"}
	for _, query := range []string{"a=1&key=new", "%6Bey=new&a=1", "key=x&a=1&key=y"} {
		if same, _ := hook.EventOf(&byQuery, request("", "text/plain", query)); same.MessageID != one.MessageID {
			t.Errorf("the token is in the hash of %s", query)
		}
	}
	long, _ := hook.EventOf(&eventlog.Hook{ID: "{hash}", Title: "{body:t}"},
		request(`{"t":"`+strings.Repeat("ä", 1000)+`"}`, jsonType, ""))
	if len(long.Title) > 256 || !strings.HasPrefix(long.Title, "ää") {
		t.Errorf("a long title has %d bytes", len(long.Title))
	}
}

// A request that is not what it says it is, or gives no usable id, is refused by name.
func TestRequestsThatBecomeNoEvent(t *testing.T) {
	t.Parallel()
	byBody := eventlog.Hook{Name: "h", ID: "{body:id}", Title: "t"}
	for name, c := range map[string]struct {
		request *hook.Request
		code    string
	}{
		"broken JSON":          {request(`{"id":`, "application/json", ""), "json.invalid"},
		"two documents":        {request(`{"id":1} {"id":2}`, "application/json", ""), "json.invalid"},
		"no UTF-8":             {request("{\"id\":\"\xff\"}", "application/json", ""), "json.invalid"},
		"broken vendor's JSON": {request("x", "application/vnd.api+json", ""), "json.invalid"},
		"broken form":          {request("id=%zz", form, ""), "form.invalid"},
		"form, no UTF-8":       {request("id=%ff", form, ""), "form.invalid"},
		"broken query":         {request(`{"id":1}`, "application/json", "a=%zz"), "query.invalid"},
		"broken type":          {request(`{"id":1}`, "application/json; =", ""), "contentType.invalid"},
		"no id":                {request(`{"ID":1}`, "application/json", ""), hook.CodeID},
		"empty id":             {request(`{"id":""}`, "application/json", ""), hook.CodeID},
		"an object as id":      {request(`{"id":{"a":1}}`, "application/json", ""), hook.CodeID},
		"null as id":           {request(`{"id":null}`, "application/json", ""), hook.CodeID},
		"an overlong id":       {request(`{"id":"`+strings.Repeat("x", 513)+`"}`, "application/json", ""), hook.CodeID},
		"a control character":  {request(`{"id":"a\u0000"}`, "application/json", ""), hook.CodeID},
		"half a character":     {request(`{"id":"\ud800"}`, "application/json", ""), hook.CodeID},
		"text":                 {request(`{"id":1}`, "text/plain", ""), hook.CodeID},
	} {
		_, err := hook.EventOf(&byBody, c.request)
		var why *hook.Unreadable
		if !errors.As(err, &why) || why.Code != c.code || why.Hint == "" {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}

// A challenge is a request that has all that its template names; Slack's is known without one.
func TestChallenges(t *testing.T) {
	t.Parallel()
	slack := eventlog.Hook{Verify: eventlog.HookVerify{Scheme: "slack"}}
	own := eventlog.Hook{Respond: &eventlog.HookAnswer{Challenge: "{query:hub.challenge}"}}
	for name, c := range map[string]struct {
		hook    *eventlog.Hook
		request *hook.Request
		answer  string
		ok      bool
	}{
		// docs.slack.dev, "URL verification handshake".
		"Slack's": {&slack, request(`{"token":"Jhj5dZrVaK7ZwHHjRyZWjbDl",`+
			`"challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}`,
			"application/json", ""), "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P", true},
		"an event of Slack": {
			&slack, request(`{"type":"event_callback","challenge":"x"}`, "application/json", ""), "", false,
		},
		"a form that looks like one":  {&slack, request("type=url_verification&challenge=x", form, ""), "", false},
		"one in the query":            {&own, request("", "text/plain", "hub.challenge=abc"), "abc", true},
		"an event beside a challenge": {&own, request("{}", "application/json", "hub.mode=x"), "", false},
	} {
		answer, ok, err := hook.Challenge(c.hook, c.request)
		if err != nil || answer != c.answer || ok != c.ok {
			t.Errorf("%s: %q %t %v", name, answer, ok, err)
		}
	}
	long := request("", "text/plain", "hub.challenge="+strings.Repeat("a", 1025))
	var why *hook.Unreadable
	if _, _, err := hook.Challenge(&own, long); !errors.As(err, &why) || why.Code != hook.CodeChallenge {
		t.Errorf("a challenge of 1025 bytes: %v", err)
	}
}
