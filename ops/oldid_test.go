package ops

import (
	"testing"
)

// Ids that are no longer taken stand in logs of former builds: an operator still reaches such an event.
func TestIDsThatAreNoLongerTakenCanBeAddressed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", "allow")
	const event = "/v1/workflows/shop/events/order.in/a%EF%BF%BDb"
	for path, method := range map[string]string{event: "GET", event + "/skip": "POST", event + "/cancel": "POST", event +
		"/redrive": "POST"} {
		body := ""
		if method == "POST" {
			body = "{}"
		}
		if res, answer := b.request(method, path, body); res.StatusCode != 404 {
			t.Errorf("%s %s: %d %s, want that there is no such event", method, path, res.StatusCode, answer)
		}
	}
}
