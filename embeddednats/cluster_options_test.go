package embeddednats

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// A node that is away for an hour makes some lines of the log in each other node, not thousands: the server tries each
// of its routes every one to two seconds.
func TestANodeThatIsAwayIsReportedNowAndThen(t *testing.T) {
	t.Parallel()
	o := server.Options{ServerName: "a"}
	if err := (&Cluster{Name: "c", Listen: "127.0.0.1:0", Routes: []string{"127.0.0.1:1"}}).apply(&o); err != nil {
		t.Fatal(err)
	}
	if lines := 3600 / max(o.ReconnectErrorReports, 1); lines > 60 {
		t.Errorf("an hour makes up to %d lines for each route", lines)
	}
}
