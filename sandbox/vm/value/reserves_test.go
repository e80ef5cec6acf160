package value

import (
	"encoding/json"
	"testing"
)

// decoded is what encoding/json makes of a result of prepare.
func decoded(raw []byte) (reserves, ok bool) {
	var result struct {
		Reservations []struct {
			Topic string   `json:"topic"`
			IDs   []string `json:"ids"`
		} `json:"reservations"`
	}
	if err := json.Unmarshal(raw, &result); err != nil || result.Reservations == nil {
		return false, false
	}
	for _, r := range result.Reservations {
		reserves = reserves || len(r.IDs) > 0
	}
	return reserves, true
}

var preparedTexts = []string{
	// usual ones
	`{"reservations":[]}`, `{"reservations":[],"data":{}}`, `{"data":[1,{"ids":["a"]}],"reservations":[]}`,
	`{"reservations":[{"topic":"a","ids":["1","2"]},{"topic":"b","ids":[]}],"ui":{"title":"}]\"{["},"wakeAt":null}`,
	`{"reservations":[{"ids":[],"topic":"a","more":{"ids":["x"]}},{"topic":"\u00e9","ids":["\"]"]}],"cancel":[]}`,
	`{"reservations":[{"topic":"a"}]}`, `{"reservations":[{"ids":["1"]},{}]}`, `{"x":-1.5e-7,"reservations":[],"y":true}`,
	// others
	`{}`, `[]`, `"reservations"`, `null`, `{"data":{"reservations":[{"ids":["a"]}]}}`, `{"reservations":null}`,
	`{"reservations":{}}`, `{"reservations":"a"}`, `{"reservations":[null]}`, `{"reservations":[[]]}`,
	`{"reservations":["a"]}`, `{"reservations":[{"topic":1,"ids":["a"]}]}`,
	`{"reservations":[{"topic":null,"ids":["a"]}]}`,
	`{"reservations":[{"topic":"a","ids":null}]}`, `{"reservations":[{"topic":"a","ids":[1]}]}`,
	`{"reservations":[{"topic":"a","ids":["1",null]}]}`, `{"reservations":[{"topic":"a","ids":{}}]}`,
	`{"reservations":[{"topic":"a","ids":"1"}]}`, `{"reservations":[{"topic":"a","ids":[["1"]]}]}`,
	`{"Reservations":[{"topic":"a","ids":["1"]}]}`, `{"reservations":[],"RESERVATIONS":null}`,
	`{"reservations":[{"topic":"a","IDs":["1"]}]}`, `{"reservations":[{"topic":"a","ids":[],"IDS":["1"]}]}`,
	`{"reservation\u017f":[{"ids":["1"]}]}`, `{"reservations":[{"id\u017f":["1"]}]}`,
	`{"reservations":[{"topic":"a","ids":[],"Topic":1}]}`, `{"reservations":[{"topic":"\ud800","ids":["\udc00"]}]}`,
}

// usualTexts is how many of preparedTexts are usual ones.
const usualTexts = 8

// Where Reserves is sure, it says what encoding/json does, and it is sure of the usual results.
func TestReservesIsWhatTheHostReads(t *testing.T) {
	t.Parallel()
	for i, text := range preparedTexts {
		reserves, sure := Reserves([]byte(text))
		if want, ok := decoded([]byte(text)); sure && (!ok || reserves != want) {
			t.Errorf("%s: it reserves events: %t, want %t, %t", text, reserves, want, ok)
		}
		if i < usualTexts && !sure {
			t.Errorf("%s is not taken for a usual result", text)
		}
	}
	deep := make([]byte, 0, 1<<16)
	deep = append(deep, `{"reservations":[],"data":`...)
	for range maxNesting {
		deep = append(deep, '[')
	}
	for range maxNesting {
		deep = append(deep, ']')
	}
	if _, sure := Reserves(append(deep, '}')); sure {
		t.Error("a result that is too deep for the host is taken for a usual one")
	}
}

func FuzzReservesIsWhatTheHostReads(f *testing.F) {
	for _, text := range append(preparedTexts, jsonTexts...) {
		f.Add(text)
	}
	p := newJSONPair(f)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := p.values.Parse(text)
		if err != nil {
			return
		}
		raw, err := Encode(p.rt, v) // as the interpreter writes it
		if err != nil {
			return
		}
		reserves, sure := Reserves(raw)
		if want, ok := decoded(raw); sure && (!ok || reserves != want) {
			t.Errorf("%s: it reserves events: %t, want %t, %t", raw, reserves, want, ok)
		}
	})
}

func BenchmarkReserves(b *testing.B) {
	raw := []byte(`{"reservations":[{"topic":"order","ids":["A-1042"]}],"data":{"to":"ada@example.com","subject":"Order ` +
		`A-1042: 3 items, 118.80 EUR"},"ui":{"title":"Confirm order A-1042"}}`)
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if reserves, sure := Reserves(raw); !reserves || !sure {
				b.Fatal(reserves, sure)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if reserves, ok := decoded(raw); !reserves || !ok {
				b.Fatal(reserves, ok)
			}
		}
	})
}
