package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// action is something that a person can do: an operation of the table, with a text that says before what it will do.
type action struct {
	id, label string
	// says is the text about what will happen; {NAME} stands for the field NAME of the form, which is one of path.
	says   string
	danger bool
	// path are the fields that name the subject of the action; the form has them as hidden fields.
	path []string
	// asks are the fields that a person fills in.
	asks []asked
	// many says that the operation takes many items, or a filter, and can list them before it changes anything.
	many bool
}

// asked is a field of a form.
type asked struct{ Name, Label, Kind string } // Kind is text, json or check

var comment = asked{"comment", "Comment, kept with the record (optional)", "text"}
var reason = asked{"reason", "Reason, for the record (optional)", "text"}

// actions are all changes that the console can make, except deploys, grants and new tokens, which have forms of their
// own.
var actions = []action{
	{id: "pauseWorkflow", label: "Pause", path: []string{"workflow"},
		says: "Workflow {workflow} begins nothing new until it is resumed. A run that has begun goes on to its end, " +
			"and may still make its call. Events that come in wait."},
	{id: "resumeWorkflow", label: "Resume", path: []string{"workflow"},
		says: "The pause of workflow {workflow} and the system's hold end, and it goes on where it stood. If the cause is " +
			"still there, it will be held again."},
	{id: "archiveWorkflow", label: "Archive", danger: true, path: []string{"workflow"},
		says: "Workflow {workflow} stops for good: nothing of it runs again, and events that wait stay unprocessed. Its " +
			"history stays. This cannot be undone."},
	{id: "runWorkflow", label: "Run now", path: []string{"workflow"},
		says: "Every producer of workflow {workflow} looks outside now, or as soon as what goes first has ended."},
	{id: "approveMutation", label: "Approve", path: []string{"mutation", "paramsHash"}, asks: []asked{comment},
		says: "The request below is sent once, exactly as it is recorded. Nothing else is approved with it."},
	{id: "rejectMutation", label: "Reject", danger: true, path: []string{"mutation"}, asks: []asked{comment},
		says: "The request below is not sent. Its run goes on without it: the script's next is told that it was skipped."},
	{id: "resolveMutation/did_happen", label: "It happened", path: []string{"mutation"},
		asks: []asked{{"result", "Result that the script is given, as JSON (null when left empty)", "json"}, comment},
		says: "It is recorded that the call took effect, and the run goes on with the result that you give. " +
			"Nothing is sent."},
	{id: "resolveMutation/did_not_happen", label: "It did not happen", path: []string{"mutation"}, asks: []asked{comment},
		says: "It is recorded that the call had no effect. Its events are processed anew, and the call is made again, " +
			"with a new idempotency key: if it did take effect after all, it happens twice."},
	{id: "resolveMutation/skip", label: "Skip it", danger: true, path: []string{"mutation"}, asks: []asked{comment},
		says: "Nothing more is done about the call: its events end as skipped, and the run goes on without a result."},
	{id: "resolveMutation/try_again", label: "Ask again", path: []string{"mutation"}, asks: []asked{comment},
		says: "The other side is asked once more what became of the call. Only where its host is configured to recognise " +
			"the key (reconcile.resend), it gets the same call once more instead."},
	{id: "approveMutations", label: "Approve", many: true, asks: []asked{comment},
		says: "Each of these requests is sent once, exactly as it is recorded."},
	{id: "rejectMutations", label: "Reject", danger: true, many: true, asks: []asked{comment},
		says: "None of these requests is sent. Their runs go on without them."},
	{id: "resolveMutations/did_happen", label: "All happened", many: true, asks: []asked{comment},
		says: "It is recorded that each of these calls took effect; each run goes on with null as its result."},
	{id: "resolveMutations/did_not_happen", label: "None happened", many: true, asks: []asked{comment},
		says: "It is recorded that none of these calls had an effect. Their events are processed anew, and the calls are " +
			"made again, with new idempotency keys: one that did take effect after all happens twice."},
	{id: "resolveMutations/skip", label: "Skip all", danger: true, many: true, asks: []asked{comment},
		says: "Nothing more is done about these calls: their events end as skipped."},
	{id: "redriveEvent", label: "Redrive", path: []string{"workflow", "topic", "messageId"}, asks: []asked{including},
		says: "The event is processed anew from its first attempt on."},
	{id: "skipEvent", label: "Skip", danger: true, path: []string{"workflow", "topic", "messageId"}, asks: []asked{reason},
		says: "The event ends unprocessed, as skipped. If its change is made, it ends so once next has run."},
	{id: "cancelEvent", label: "Cancel", danger: true, path: []string{"workflow", "topic", "messageId"},
		asks: []asked{reason}, says: "The event's job is cancelled, unless a run is processing it."},
	{id: "redriveEvents", label: "Redrive", many: true, path: []string{"workflow"}, asks: []asked{including},
		says: "Each of these events of workflow {workflow} is processed anew from its first attempt on."},
	{id: "skipEvents", label: "Skip", danger: true, many: true, path: []string{"workflow"}, asks: []asked{reason},
		says: "Each of these events of workflow {workflow} ends unprocessed, as skipped. One whose change is made ends so " +
			"once next has run."},
	{id: "cancelEvents", label: "Cancel", danger: true, many: true, path: []string{"workflow"}, asks: []asked{reason},
		says: "The jobs of these events of workflow {workflow} are cancelled."},
	{id: "resumeSubscription", label: "Resume", path: []string{"name"}, asks: []asked{skip},
		says: "The outgoing webhook {name} goes on with the message at which it was parked."},
	{id: "revokeToken", label: "Revoke", danger: true, path: []string{"name"},
		says: "The token {name} is refused from now on, and so is every browser login that was made with it."},
	{id: "closeLogin", label: "End the login", danger: true, path: []string{"login"},
		says: "The browser with the login {login} is refused from now on. It comes in again with a new link only."},
}

var (
	including = asked{"includingUnknown",
		"Also those whose call was applied, or may have been: that may repeat its effect", "check"}
	skip = asked{"skip", "Leave that message undelivered, and go on behind it", "check"}
)

// actionOf finds an action by its name: the operation's id, followed by the resolution where there is one.
func actionOf(name string) *action {
	i := slices.IndexFunc(actions, func(a action) bool { return a.id == name })
	if i < 0 {
		return nil
	}
	return &actions[i]
}

func (a *action) operation() (id, resolution string) {
	id, resolution, _ = strings.Cut(a.id, "/")
	return id, resolution
}

// about is the text of the action, with the names from the form filled in.
func (a *action) about(form url.Values) string {
	said := a.says
	for _, name := range a.path {
		said = strings.ReplaceAll(said, "{"+name+"}", clip(128, form.Get(name)))
	}
	return said
}

// act carries an action out, and leads the browser back with a note of the result.
func (c *Console) act(w http.ResponseWriter, r *http.Request) {
	v := c.post(w, r)
	if v == nil {
		return
	}
	a := actionOf(r.PathValue("action"))
	if a == nil {
		c.refuse(w, r, v, rpc.Problemf(http.StatusNotFound, "action.unknown", "There is no such action."))
		return
	}
	said, changed, err := v.carryOut(a, r.PostForm)
	if err != nil {
		p := problemOf(err)
		view, again := v.actionView(a, r.PostForm)
		if again != nil || a.many {
			c.refuse(w, r, v, p)
			return
		}
		view.Refusal = p
		c.render(w, v, p.Status, "action", page{Title: a.label, Nav: "needs", Body: view, Snapshot: true})
		return
	}
	v.say(w, said)
	next := backTo(r.PostForm.Get("back"))
	if a.id == "redriveEvents" && changed > 0 {
		shown, err := v.progressOf(eventlog.WorkflowName(r.PostForm.Get("workflow")), r.PostForm["items"])
		if err == nil {
			next = shown
		} else { // the action itself is done, so this is no error for the person
			c.cfg.Logger.Warn("the progress of a redrive cannot be shown", "error", err)
		}
	}
	v.lead(w, next)
}

// carryOut carries an action out. It returns a sentence about the result, and how many items an action on many has
// changed.
func (v *visit) carryOut(a *action, form url.Values) (said string, changed int, err error) {
	id, resolution := a.operation()
	fields := given(form, a.path...)
	if strings.HasSuffix(id, "Events") {
		fields = given(form, slices.Concat(a.path, asCounted)...)
	}
	for _, f := range a.asks {
		switch value := strings.TrimSpace(form.Get(f.Name)); {
		case value == "":
		case f.Kind == "check":
			fields[f.Name] = true
		case f.Kind == "json":
			if !json.Valid([]byte(value)) {
				return "", 0, rpc.Problemf(http.StatusUnprocessableEntity, "result.invalid", "This is no JSON: %s",
					clip(80, value)).WithHint(`Write JSON, e.g. {"id": 17}; a text stands in quotes.`)
			}
			fields[f.Name] = json.RawMessage(value)
		default:
			fields[f.Name] = value
		}
	}
	if resolution != "" {
		fields["resolution"] = decide.Resolution(resolution)
	}
	if !a.many {
		_, err := ask[json.RawMessage](v, id, fields)
		return "Done: " + strings.ToLower(a.label[:1]) + a.label[1:] + ". It is recorded under your name.", 0, err
	}
	if len(form["items"]) == 0 {
		return "", 0, rpc.Problemf(http.StatusUnprocessableEntity, "items.none", "Nothing is chosen.").
			WithHint("Go back and choose at least one.")
	}
	items := make([]json.RawMessage, 0, len(form["items"]))
	for _, item := range form["items"] {
		if !json.Valid([]byte(item)) {
			return "", 0, errors.New("a form was sent that no page of the console has")
		}
		items = append(items, json.RawMessage(item))
	}
	fields["items"] = items
	done, err := ask[manyAnswer](v, id, fields)
	if err != nil {
		return "", 0, err
	}
	said = fmt.Sprintf("Done: %d of %d. It is recorded under your name.", done.Updated, done.Matched)
	if done.Updated == 0 {
		said = "Nothing was changed."
	}
	if done.AtRunEnd > 0 {
		said += fmt.Sprintf(" Not ended yet: %d; they end as skipped once next has run.", done.AtRunEnd)
	}
	if left := len(done.Noop); left > 0 {
		said += fmt.Sprintf(" The rest (%d) is as it was: %s.", left, clip(200, done.Noop[0].Reason))
	}
	return said, done.Updated, nil
}

// backTo is the page of this engine that an action leads back to.
func backTo(given string) string {
	u, err := url.Parse(given)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		u.Path != "/" && !strings.HasPrefix(u.Path, Base) {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}
