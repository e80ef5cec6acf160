package lifecycle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/decide"
)

// O3: to ask again is offered, and accepted, only where something can come of it by the configuration as it is now.
// Otherwise the refusal and the explanation say why. Each case changes the configuration after the call.
func TestO3_AskingAgainThatCannotHelpIsRefused(t *testing.T) {
	asked := httpcall.ReconcileConfig{Get: "/orders/{idempotencyKey}", Applied: httpcall.Rule{Status: 200},
		Failed: httpcall.Rule{Status: 404}}
	resent := httpcall.ReconcileConfig{Resend: true, Within: 24 * time.Hour}
	for name, c := range map[string]struct {
		then, now *httpcall.ReconcileConfig
		archived  bool
		says      string // of a call that is not asked about again: the reason
		offers    string // of another: what is offered
	}{
		"asked":           {&asked, &asked, false, "", "connector can also be asked again; nothing is sent"},
		"asked, archived": {&asked, &asked, true, "", "connector can also be asked again; nothing is sent"},
		"sent again": {&resent, &resent, false, "", "the same call can also be sent again with the same key, which its " +
			"host is configured to recognise"},
		"sent again, archived": {&resent, &resent, true, "the workflow is archived", ""},
		"sent again now":       {&asked, &resent, false, "this one was made before that was configured", ""},
		"asked now":            {&resent, &asked, false, "which its host is not configured for any more", ""},
		"taken out":            {&asked, nil, false, "would have to be put back", ""},
	} {
		t.Run(name, func(t *testing.T) {
			l, r := resends(t, true, slices.Repeat([]turnedOut{trouble}, 100)...)
			l.configure(r, c.then)
			l.deploy(shop{mutate: fmt.Sprintf(`await ctx.http.post({ url: "http://%s/orders", body: data.order });`, r.address)})
			l.push("a")
			l.advance("12h")
			m := l.wantMutation("indeterminate")
			l.configure(r, c.now)
			if c.archived {
				l.do("archiveWorkflow", nil)
			}
			l.rest()
			why := l.wantWhy(decide.ReasonIndeterminate)
			offered := slices.Contains(why.Commands, "pawl resolve "+string(m.ID)+" --ask-again")
			if offered != (c.says == "") || !strings.Contains(why.Message, c.says) || !strings.Contains(why.Message, c.offers) {
				t.Errorf("offered: %v, %s", offered, why.Message)
			}
			if c.says == "" {
				l.do("resolveMutation", nil, "mutation", m.ID, "resolution", "try_again")
				return
			}
			_, before := r.total()
			no := l.refused("mutation.noReconcile", "resolveMutation", "mutation", m.ID, "resolution", "try_again")
			if !strings.Contains(no.Detail, c.says) || !strings.Contains(no.Hint, "find out yourself") {
				t.Errorf("refused with %q (%s)", no.Detail, no.Hint)
			}
			l.advance("1h")
			if _, now := r.total(); now != before {
				t.Errorf("%d requests were sent after the refusal", now-before)
			}
		})
	}
}
