package natsservice_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector/natsservice"
)

func ledgerSpec(w *world, sloppy string) toolSpec {
	return toolSpec{URL: w.connectorURL(), Name: "bank", Sloppy: sloppy, Endpoints: []endpointSpec{
		mutation("pay", "pawl.reconcile", "paid", "pawl.timeout", "5s"), described("paid", "reconcile"),
		described("total", "get"),
	}}
}

func checkConfig(w *world) natsservice.CheckConfig {
	return natsservice.CheckConfig{
		Connect: w.server.ConnectConnectors, Name: "bank", Yes: true, Timeout: 5 * time.Second,
		Trials: map[string]natsservice.Trial{"pay": {Params: json.RawMessage(`{"amount":1}`), Observe: "total"}},
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for sloppy, broken := range map[string]natsservice.Rule{
		"":          "",
		"deadline":  natsservice.RuleDeadline,
		"key":       natsservice.RuleKey,
		"effect":    natsservice.RuleKey,
		"reconcile": natsservice.RuleReconcile,
		"forgets":   natsservice.RuleReconcile,
	} {
		t.Run("sloppy about "+sloppy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			startTool(t, ledgerSpec(w, sloppy))
			report, err := natsservice.Check(t.Context(), checkConfig(w))
			if err != nil {
				t.Fatal(err)
			}
			if report.OK() != (broken == "") {
				t.Errorf("ok is %t: %+v", report.OK(), report.Findings)
			}
			kept := 0
			for _, f := range report.Findings {
				if f.Operation != "pay" {
					continue
				}
				if f.Mark == natsservice.Kept {
					kept++
				}
				if f.Mark == natsservice.Broken && f.Rule != broken &&
					!(sloppy == "key" && f.Rule == natsservice.RuleReconcile) {
					t.Errorf("unexpected: %+v", f)
				}
			}
			if broken == "" && kept != 4 {
				t.Errorf("%d rules kept: %+v", kept, report.Findings)
			}
		})
	}
}

func TestCheckChangesNothingUnasked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bank := startTool(t, ledgerSpec(w, ""))
	cfg := checkConfig(w)
	cfg.Yes = false
	report, err := natsservice.Check(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		if f.Mark != natsservice.Unchecked || f.Operation == "pay" && !strings.Contains(f.Text, "--yes") {
			t.Errorf("%+v", f)
		}
	}
	bank.drain(func(s seen) { t.Errorf("the tool was called: %+v", s) })
}

func TestCheckWithoutAService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := natsservice.Check(t.Context(), checkConfig(w)); !errors.Is(err, natsservice.ErrNoService) {
		t.Errorf("check: %v", err)
	}
	w.start("bank", described("odd", "search"))
	report, err := natsservice.Check(t.Context(), checkConfig(w))
	if err != nil || report.OK() || !strings.Contains(report.Findings[0].Text, `"search"`) {
		t.Errorf("check: %+v, %v", report, err)
	}
}
