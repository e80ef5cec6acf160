package worker

import (
	"runtime"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// TestZonesInAConfinedWorker: a worker that can open no file knows the zones, and a zone's name opens
// none.
func TestZonesInAConfinedWorker(t *testing.T) {
	t.Parallel()
	config := Config{Size: 1}
	if runtime.GOOS == "linux" {
		config.Require = confine.Full
	}
	p := newPool(t, config)
	r, err := p.Invoke(t.Context(), invocationOf(sandbox.Prepare, `
const at = (timeZone) => { try { return new Date(0).toLocaleString("de-DE", { timeZone }) } catch (e) { return e.name } };
return ["Asia/Kolkata", "America/St_Johns", "Europe/Berlin", "../../../../etc/localtime", "/etc/localtime"].map(at)`), world)
	if want := `["1.1.1970, 05:30:00","31.12.1969, 20:30:00","1.1.1970, ` +
		`01:00:00","RangeError","RangeError"]`; err != nil || string(r.Value) != want {
		t.Errorf("%s, %v", r.Value, err)
	}
}
