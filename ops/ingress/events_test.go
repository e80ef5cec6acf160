package ingress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/ops/rpc"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		items  string
		single bool
	}{
		`{"messageId":"a","title":"A","payload":{"x":[1,2,{"y":"}"}]}}`: {`[a|A|{"x":[1,2,{"y":"}"}]}]`, true},
		" \n[ {\"title\" : \"A\" , \"messageId\" : \"a\" , \"payload\" : 1.5e3 } ] ": {`[a|A|1.5e3]`,
			false},
		`[{"messageId":"a","title":"A","payload":"x,\"]}"},{"messageId":"b","title":"B",` +
			`"payload":null}]`: {`[a|A|"x,\"]}" b|B|null]`, false},
		`{"messageId":"a\"\u00e9\\","title":"\ud83d\ude00","payload":true}`: {`[a"é\|😀|true]`,
			true},
		`{"messageId":"a","title":"A"}`: {`[a|A|null]`,
			true},
		`{"payload":[[],{}],"messageId":"a/ß","title":"A"}`: {`[a/ß|A|[[],{}]]`,
			true},
		`[]`: {`[]`, false},
	} {
		items, single, err := Parse([]byte(text))
		var got []string
		for _, item := range items {
			got = append(got, fmt.Sprintf("%s|%s|%s", item.MessageID, item.Title, item.Payload))
		}
		if err != nil || fmt.Sprint(got) != want.items || single != want.single {
			t.Errorf("%s\n got %v %v %v\nwant %v", text, got, single, err, want)
		}
	}
	for text, code := range map[string]string{
		``: "json.invalid", `{`: "json.invalid", `{"messageId":"a","title":"A"} x`: "json.invalid",
		"{\"messageId\":\"\xff\",\"title\":\"A\"}": "json.invalid",
		// A text that is no JSON is called that, also where a field before the place is wrong.
		`{"a":1,}`: "json.invalid", `[{"messageId":1,"title":"A"} {}]`: "json.invalid", `[1`: "json.invalid",
		`{"messageId":"a","title":"A","payload":01}`: "json.invalid", `[{"messageId":"a","title":"A"}]]`: "json.invalid",
		"{\"messageId\":\"\n\",\"title\":\"A\"}": "json.invalid", `{"messageId":"\x","title":"A"}`: "json.invalid",
		`"a"`: "event.invalid", `[1]`: "event.invalid", `[[]]`: "event.invalid",
		`{"messageId":1,"title":"A"}`: "field.invalid", `{"messageId":"a","title":null}`: "field.invalid",
		`{"title":"A"}`: "field.missing", `[{"messageId":"a","title":"A"},{}]`: "field.missing",
		`{"messageId":"a","messageId":"b","title":"A"}`: "field.twice",
		`{"messageID":"a","title":"A"}`:                 "field.unknown",
	} {
		_, _, err := Parse([]byte(text))
		var p *rpc.Problem
		if !errors.As(err, &p) || p.Code != code || p.Status != 400 {
			t.Errorf("%s: %v, want %s", text, err, code)
		}
	}
}

// FuzzParse holds the parser against encoding/json.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"messageId":"a","title":"A","payload":{}}`,
		`[{"messageId":"a","title":"A"}, {"title":"\n","messageId":"\u00e9","payload":[1 , 2]}]`, `[`, `{"a":{"b":"\\"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		given := bytes.Clone(body)
		items, single, err := Parse(body)
		if !bytes.Equal(given, body) {
			t.Fatal("the text was changed")
		}
		if err != nil {
			var p *rpc.Problem
			if !errors.As(err, &p) {
				t.Fatalf("no problem: %v", err)
			}
			return
		}
		type event struct {
			MessageID string          `json:"messageId"`
			Title     string          `json:"title"`
			Payload   json.RawMessage `json:"payload"`
		}
		var want []event
		if single {
			want = make([]event, 1)
			err = json.Unmarshal(body, &want[0])
		} else {
			err = json.Unmarshal(body, &want)
		}
		if err != nil || len(want) != len(items) {
			t.Fatalf("encoding/json reads %d events (%v), this %d", len(want), err, len(items))
		}
		for i, w := range want {
			if w.Payload == nil {
				w.Payload = json.RawMessage("null")
			}
			if string(items[i].MessageID) != w.MessageID || items[i].Title != w.Title ||
				!bytes.Equal(items[i].Payload, w.Payload) {
				t.Fatalf("item %d: %q, encoding/json reads %q", i, items[i], w)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	one := []byte(`{"messageId":"order-000001","title":"Order 1 of a customer","payload":{"id":"order-000001",` +
		`"amount":12.5,"lines":[{"sku":"a","n":1},{"sku":"b","n":2}]}}`)
	many := append(append([]byte("["), bytes.Repeat(append(bytes.Clone(one), ','), 99)...),
		append(bytes.Clone(one), ']')...)
	for name, text := range map[string][]byte{"1": one, "100": many} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, _, err := Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/encoding-json", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var items []decide.PushItem
				if !strings.HasPrefix(string(text[:1]), "[") {
					items = make([]decide.PushItem, 1)
					if err := json.Unmarshal(text, &items[0]); err != nil {
						b.Fatal(err)
					}
				} else if err := json.Unmarshal(text, &items); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
