package natstest_test

import (
	"net"
	"testing"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
)

func TestAClusterStartsAnewWhereAnAddressIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	configured := 0
	natstest.NewCluster(t, 3, natstest.Fast, func(c *embeddednats.Config) {
		if configured++; configured == 3 {
			c.Cluster.Listen = taken.Addr().String()
		}
	})
	if configured != 6 {
		t.Errorf("%d servers were configured, want 3 twice", configured)
	}
}
