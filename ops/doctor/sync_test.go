package doctor_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/ops/doctor"
)

// The servers that do not sync each write are named, to the system account alone.
func TestSync(t *testing.T) {
	t.Parallel()
	servers := natstest.NewCluster(t, 3, func(c *embeddednats.Config) {
		if c.Name == "n2" {
			natstest.Fast(c)
		}
	})
	nc, err := servers.Servers[0].ConnectSystem()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	f, err := doctor.Sync(t.Context(), nc)
	if err != nil || f.Verdict != doctor.Weak || f.Remedy == "" || !strings.HasSuffix(f.Says, ": n2 every 1m0s") {
		t.Errorf("%+v, %v", f, err)
	}
	servers.Stop(1)
	if f, err = doctor.Sync(t.Context(), nc); err != nil || f.Verdict != doctor.OK || !strings.HasPrefix(f.Says, "2 ") {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := doctor.Sync(t.Context(), servers.Connect(0)); err == nil {
		t.Errorf("an application's account was told %+v", f)
	}
}
