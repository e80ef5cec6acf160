package node

import (
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/ops/doctor"
)

// A node knows of the server inside what cannot be seen of other servers: how it syncs, and which users there are.
func TestServerInside(t *testing.T) {
	t.Parallel()
	found := []doctor.Finding{{Check: "clock", Verdict: doctor.OK}, {Check: doctor.CheckSync, Verdict: doctor.Unknown},
		{Check: doctor.CheckPermissions, Verdict: doctor.Unknown}}
	for every, verdict := range map[time.Duration]doctor.Verdict{0: doctor.OK, time.Second: doctor.Weak} {
		known := ofServerInside(found, syncOf(every))
		if !slices.EqualFunc(known, []doctor.Finding{found[0], {Check: doctor.CheckSync, Verdict: verdict}},
			func(a, b doctor.Finding) bool { return a.Check == b.Check && a.Verdict == b.Verdict }) {
			t.Errorf("synced every %s: %+v", every, known)
		}
	}
}
