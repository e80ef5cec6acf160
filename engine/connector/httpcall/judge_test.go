package httpcall

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/secret"
)

// TestJudge: a host that is not configured is named before the call, where the script shows the whole of it.
func TestJudge(t *testing.T) {
	t.Parallel()
	c, err := New(Config{Hosts: map[string]HostConfig{"api.example.com": {}, "127.0.0.1:9000": {Private: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	text := func(s string) connector.Partial {
		value, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return connector.Partial{Kind: "string", Value: value}
	}
	begins := func(s string) connector.Partial { return connector.Partial{Kind: "string", Prefix: s} }
	for name, test := range map[string]struct {
		url   connector.Partial
		named bool
	}{
		"another host":                    {text("https://other.example.com/x"), true},
		"another port":                    {text("http://127.0.0.1:9001/x"), true},
		"a host and more":                 {begins("https://other.example.com/orders/"), true},
		"a host and a query":              {begins("https://other.example.com?id="), true},
		"a configured host":               {text("https://api.example.com/x"), false},
		"a configured host and more":      {begins("http://127.0.0.1:9000/orders/"), false},
		"perhaps only a part of the host": {begins("https://other"), false},
		"no address":                      {text("orders"), false},
		"anything":                        {connector.Partial{}, false},
	} {
		params := connector.Partial{Kind: "object", Members: []connector.PartialMember{{Name: "url", Value: test.url}}}
		got := c.Judge("get", &params)
		if (len(got) == 1) != test.named {
			t.Errorf("%s: %+v", name, got)
		}
		if len(got) == 1 && (got[0].Code != connector.CodeHost || got[0].Fix == "" || got[0].Where[0] != "url") {
			t.Errorf("%s: %+v", name, got[0])
		}
	}
}

// TestJudgeReads: a read by another method than GET that is not configured is named before the call.
func TestJudgeReads(t *testing.T) {
	t.Parallel()
	c, err := New(Config{Hosts: map[string]HostConfig{"api.example.com": {Reads: []string{"POST /v1/search"}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	text := func(s string) connector.Partial {
		return connector.Partial{Kind: "string", Value: json.RawMessage(`"` + s + `"`)}
	}
	for path, want := range map[string]int{"/v1/search": 0, "/v1/search?page=2": 0, "/v1/orders": 1} {
		params := connector.Partial{Kind: "object", Members: []connector.PartialMember{
			{Name: "method", Value: text("POST")},
			{Name: "url", Value: text("https://api.example.com" + path)},
		}}
		if got := c.Judge("read", &params); len(got) != want || want == 1 && got[0].Code != connector.CodeReads {
			t.Errorf("%s: %+v", path, got)
		}
		params.Members = params.Members[1:]
		if got := c.Judge("read", &params); len(got) != 0 {
			t.Errorf("%s, by a method that is not known: %+v", path, got)
		}
	}
}

// TestJudgeSecrets: a secret that is not configured, or that must not go to the host, is named before the call.
func TestJudgeSecrets(t *testing.T) {
	t.Parallel()
	key, err := secret.Of([]string{"a planted key"}, []string{"api.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Hosts: map[string]HostConfig{"api.example.com": {}, "other.example.com": {}},
		Named: secret.NewSet(map[string]secret.Secret{"KEY": key})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	text := func(s string) connector.Partial {
		return connector.Partial{Kind: "string", Value: json.RawMessage(`"` + s + `"`)}
	}
	for name, test := range map[string]struct{ url, secret, want string }{
		"its host":          {"https://api.example.com/x", "KEY", ""},
		"another host":      {"https://other.example.com/x", "KEY", CodeSecretHost},
		"unknown":           {"https://api.example.com/x", "NONE", CodeSecretUnknown},
		"unknown, no host":  {"", "NONE", CodeSecretUnknown},
		"no host is shown":  {"", "KEY", ""},
		"no name is shown":  {"https://api.example.com/x", "", ""},
		"unknown elsewhere": {"https://other.example.com/x", "NONE", CodeSecretUnknown},
	} {
		header := connector.PartialMember{Name: "X-Api-Key", Value: text(test.secret)}
		place := connector.PartialMember{Name: "header", Value: connector.Partial{Kind: "object",
			Members: []connector.PartialMember{header}}}
		params := connector.Partial{Kind: "object", Members: []connector.PartialMember{
			{Name: "secret", Value: connector.Partial{Kind: "object", Members: []connector.PartialMember{place}}},
			{Name: "url", Value: text(test.url)},
		}}
		got := c.Judge("get", &params)
		code := ""
		if len(got) > 0 {
			code = got[0].Code
		}
		if code != test.want || len(got) > 1 || code != "" && (got[0].Fix == "" || len(got[0].Where) != 3) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
