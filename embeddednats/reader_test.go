package embeddednats

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestWhatAReaderMaySayAboutAConsumer(t *testing.T) {
	pass := func(text string) map[string]any {
		t.Helper()
		data, err := consumerFor("S", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var out struct {
			Stream string `json:"stream_name"`
			Action string
			Config map[string]any
		}
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatal(err)
		}
		if out.Stream != "S" || out.Action != "create" {
			t.Errorf("%s became %s", text, data)
		}
		return out.Config
	}
	// What is not known is left out, whatever it may come to mean one day.
	got := pass(`{"stream_name":"S","action":"update","config":{"name":"a","ack_policy":"none",` +
		`"opt_start_seq":7,"deliver_group":"g","flow_control":true,"pause_until":"2040-01-01T00:00:00Z"}}`)
	for key := range got {
		if key == "deliver_group" || key == "flow_control" || key == "pause_until" || strings.HasPrefix(key, "deliver_s") {
			t.Errorf("%s is passed on", key)
		}
	}
	if got["name"] != "a" || got["ack_policy"] != "none" || got["opt_start_seq"] != 7.0 {
		t.Errorf("passed on %v", got)
	}
	for given, want := range map[time.Duration]time.Duration{0: idleLimit, -time.Hour: idleLimit, time.Minute: time.Minute,
		24 * time.Hour: idleLimit} {
		text, err := json.Marshal(consumerRequest{Stream: "S", Config: consumerConfig{InactiveThreshold: given}})
		if err != nil {
			t.Fatal(err)
		}
		if got := pass(string(text))["inactive_threshold"]; got != float64(want) {
			t.Errorf("idle for %s becomes %v, want %s", given, got, want)
		}
	}
	for _, bad := range []string{
		``, `[]`, `{"stream_name":"T","config":{}}`, `{"config":{}}`, `{"stream_name":"S","config":{"DELIVER_subject":"x"}}`,
		`{"stream_name":"S","config":{"description":"` + strings.Repeat("x", maxRequest) + `"}}`,
	} {
		if data, err := consumerFor("S", []byte(bad)); err == nil {
			t.Errorf("%.60s became %s", bad, data)
		}
	}
}
