package deploy

import (
	"strings"

	"github.com/pawl-run/pawl/sandbox"
)

// byHand says of codes why no edit can mend what they are about, by their beginnings; the last one is for all others.
var byHand = []struct{ code, why string }{
	{"publish.messageId", "what identifies the thing is known to the author only"},
	{"publish.stringified", "consumers may parse the text, also of events that are there already"},
	{"publish.invalid", "what identifies the thing is known to the author only"},
	{"mutate.", "which of the calls is meant to be made in this run, and where the others belong, is the author's choice"},
	{"phase.forbidden", "the call belongs in another handler, to which its data has to be handed on"},
	{"global.shared", "what has to be remembered, and by which handler, does not show in the text"},
	{"global.", "what is meant instead depends on what the value is for"},
	{"script.", "a text that cannot be read, or fails as it is read, shows no place to change"},
	{"state.", "what is to be remembered is known to the author only, and what former versions have returned"},
	{"payload.unknown", "what is published by others, or was by former versions, does not show in the text"},
	{"next.feedsItself", "when it is to end is known to the author only"},
	{"reservation.", "which events belong to the run is known to the author only"},
	{"secret.", "it is changed in the configuration, not in the script"},
	{"vars.", "it is changed in the configuration, not in the script"},
	{"connector.", "it is changed in the configuration, or another connector is meant"},
	{"redeploy.", "it depends on what the workflow holds now"},
	{"repair.", "a repair may not change it"},
	{"limit.", "what can be left out is known to the author only"},
	{"call.params", "the value that is wanted is known to the author only"},
	{"", "what is meant does not show in the text"},
}

// mend gives each problem whose fix is nothing but code the edit that the fix asks for. Of each other problem it says
// why there is no edit.
func (c *check) mend() {
	for i := range c.found {
		p := &c.found[i]
		before := *p
		if p.Edit == (sandbox.Edit{}) && p.Line > 0 && c.in.Source != "" {
			p.Edit = c.amend().Literal(sandbox.Place{Line: p.Line, Column: p.Column}, p.Fix)
		}
		if p.Edit == (sandbox.Edit{}) {
			for _, reason := range byHand {
				if strings.HasPrefix(p.Code, reason.code) {
					p.ByHand = reason.why
					break
				}
			}
		}
		if h, hinted := c.hints[before]; hinted {
			delete(c.hints, before)
			c.hints[*p] = h
		}
	}
}
