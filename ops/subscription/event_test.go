package subscription

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// What is posted is one CloudEvent with all that the headers say; a text for a person stands where chat tools look.
func TestEvent(t *testing.T) {
	t.Parallel()
	h := nats.Header{}
	for name, value := range map[string]string{"ce-specversion": "1.0", "ce-id": "01A-1", "ce-type": "pawl.run.failed.v1",
		"ce-source": "/pawl/I/w", "ce-partitionkey": "w", "ce-sequence": "7", "pawl-count": "2", "pawl-position": "0:9",
		"ce-datacontenttype": "application/json"} {
		h.Set(name, value)
	}
	got, err := event(h, []byte(`{"run":"01R","error":{"message":"<é>"}}`))
	const want = `{"specversion":"1.0","id":"01A-1","source":"/pawl/I/w","type":"pawl.run.failed.v1","partitionkey":"w",` +
		`"sequence":"7","pawlcount":"2","pawlposition":"0:9","datacontenttype":"application/json",` +
		`"data":{"run":"01R","error":{"message":"<é>"}}}`
	if err != nil || string(got.Body) != want || got.ID != "01A-1" || got.ContentType != "application/cloudevents+json" {
		t.Errorf("%s %s, %v", got.ContentType, got.Body, err)
	}
	h.Set("pawl-data", "omitted")
	if got, err = event(h, nil); err != nil || !strings.Contains(string(got.Body), `"pawldata":"omitted"`) ||
		strings.Contains(string(got.Body), `"data":`) {
		t.Errorf("a fact that is too large: %s, %v", got.Body, err)
	}
	h.Set(TextHeader, "text")
	if got, err = event(h, []byte(`{"b":1,"text":"a\nb"}`)); err != nil || got.ContentType != "application/json" ||
		!strings.HasSuffix(string(got.Body), `"text":"a\nb","data":{"b":1}}`) {
		t.Errorf("with a text: %s %s, %v", got.ContentType, got.Body, err)
	}
	if _, err := event(h, []byte(`{}`)); err == nil {
		t.Error("a text that is not there")
	}
	if _, err := event(nats.Header{}, []byte(`{}`)); err == nil {
		t.Error("a message without an id")
	}
	got, err = gap{3, 5}.announcement("PAWL_FEED", "/pawl/subscription/a", time.Unix(0, 0))
	var said struct {
		ID, Type, Text string
		Data           gap
	}
	if err == nil {
		err = json.Unmarshal(got.Body, &said)
	}
	if err != nil || said.ID != "gap.PAWL_FEED.3-5" || said.Type != typeGap || said.Text == "" ||
		said.Data != (gap{3, 5}) {
		t.Errorf("%s, %v", got.Body, err)
	}
}
