package term

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/pawl-run/pawl/eventlog"
)

// maxTitle is how much of a title that a script chose is shown, in characters.
const maxTitle = 100

// titleOf names a call: as the script does, or by its operation.
func titleOf(call eventlog.MutationCall) string {
	return cmp.Or(OneLine(call.UITitle, maxTitle), call.Connector+"."+call.Operation)
}

// effect says what an applied mutation did, and where that can be seen. The call is the zero value where another
// process recorded its start.
func effect(call eventlog.MutationCall, f *eventlog.MutationApplied) string {
	if call.Connector == "" {
		return fmt.Sprintf("mutation %s was applied", f.Mutation)
	}
	line := titleOf(call)
	if where := whereabouts(call, f.Result); where != "" {
		line += " → " + where
	} else if call.UITitle != "" {
		line += " (" + call.Connector + "." + call.Operation + ")"
	}
	switch f.ResolvedBy {
	case "":
	case eventlog.ResolvedByUserApplied:
		line += ", as a person says"
	case eventlog.ResolvedByLateReply:
		line += ", as its late answer says"
	default:
		line += ", as its connector says"
	}
	return line
}

// notHappened says how it is known that a mutation did not happen, where its call's own answer does not say it.
var notHappened = map[string]string{
	eventlog.ResolvedByReconcile:  "did not happen, as its connector says",
	eventlog.ResolvedByNeverSent:  "was never sent",
	eventlog.ResolvedByLateReply:  "did not happen, as its late answer says",
	eventlog.ResolvedByUserFailed: "did not happen, as a person says",
	eventlog.ResolvedByUserSkip:   "is given up, as a person wants",
	eventlog.ResolvedByUserReject: "was withdrawn, since the workflow was archived", // a person's no is no failure
}

// whereabouts names the place that a call of a compiled-in connector has changed; empty where
// nothing short can be said.
func whereabouts(call eventlog.MutationCall, result json.RawMessage) string {
	var params struct {
		File, Path, URL string
	}
	var answer struct {
		Row    int64
		Status int64
	} // fields that the answer does not have stay empty; the result that a person gives need not have them (O4)
	// A part that cannot be read is left out: this is only a line for people.
	_ = json.Unmarshal(call.Params, &params)
	_ = json.Unmarshal(result, &answer)
	said := func(place, format string, number int64) string {
		place = OneLine(place, maxTitle)
		if number != 0 {
			place += fmt.Sprintf(format, number)
		}
		return place
	}
	switch {
	case call.Connector == "csv" && params.File != "":
		return said(params.File, " row %d", answer.Row)
	case call.Connector == "files" && params.Path != "":
		return OneLine(params.Path, maxTitle)
	case call.Connector == "http":
		if u, err := url.Parse(params.URL); err == nil && u.Host != "" {
			return said(u.Host, " answered %d", answer.Status)
		}
	}
	return ""
}
