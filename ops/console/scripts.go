package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/engine/effectdiff"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox"
)

// editView is the page that checks, deploys and repairs a script.
type editView struct {
	// Workflow is empty for a new workflow.
	Workflow, Version, Filename, Source, Note string
	Problems                                  []sandbox.Problem
	Marks                                     string // Problems as JSON, for the editor
	Refusal                                   *rpc.Problem
	Checked, OK, Repairs                      bool
	// Sent says that the page answers a form, Unsaved that its source is not the one that runs.
	Sent, Unsaved bool
	// Effects are the differences in recorded runs, where the script was compared.
	Effects *effectsView
	// Running are the existing workflows, on the page of a new one.
	Running []eventlog.WorkflowName
	// Failed is the run whose failure asks for a repair, nil for none.
	Failed *readmodel.Run
}

// effectsView is what another script would have done in recorded runs.
type effectsView struct {
	Version eventlog.Version
	Runs    int
	Counts  map[effectdiff.Kind]int
	Items   []effectdiff.Effect
	// NotCompared says what the comparison leaves out.
	NotCompared string
}

// comparedRuns is how many recorded runs are run again for a comparison, which a person waits for.
const comparedRuns = 200

// mark shows problems at their lines in the editor.
func (e *editView) mark(problems ...sandbox.Problem) {
	encoded, err := json.Marshal(problems)
	if err != nil {
		panic(fmt.Sprintf("problems do not encode: %v", err))
	}
	e.Marks = string(encoded)
}

// firstScript is the text with which the editor of a new workflow begins.
const firstScript = `export default Pawl.workflow({
  name: "my-workflow",
  topics: { received: {} },
  consumers: {
    handle: Pawl.consumer({
      subscribe: ["received"],
      async prepare(ctx) {
        const [event] = await ctx.peek("received", { limit: 1 });
        if (!event) return { reservations: [], data: null };
        return { reservations: [{ topic: "received", ids: [event.messageId] }], data: event.payload,
                 ui: { title: ` + "`Handle ${event.title}`" + ` } };
      },
    }),
  },
});
`

// edit shows the script of the workflow that the query names, or a first one.
func (c *Console) edit(v *visit) (string, page, error) {
	q := v.r.URL.Query()
	view := editView{Source: firstScript, Filename: "my-workflow.ts"}
	if name := q.Get("workflow"); name != "" {
		s, err := ask[readmodel.Script](v, "getSource", map[string]any{"workflow": name})
		if err != nil {
			return "", page{}, err
		}
		w, err := ask[readmodel.Workflow](v, "getWorkflow", map[string]any{"workflow": name})
		if err != nil {
			return "", page{}, err
		}
		failed, err := v.repairOf(w, explain.Why{})
		if err != nil {
			return "", page{}, err
		}
		view = editView{Workflow: name, Version: string(s.Version), Filename: s.Filename, Source: s.Source,
			Repairs: w.Repair != nil}
		if view.Repairs && failed.Run != nil && failed.Run.Error != nil {
			view.Failed = failed.Run
			if e := failed.Run.Error; e.Line != nil && failed.Run.Version == s.Version {
				view.mark(sandbox.Problem{Severity: sandbox.SeverityError, Code: e.Code, Line: *e.Line, Message: e.Message})
			}
		}
	} else {
		workflows, err := wholeList[readmodel.Workflow](v, "listWorkflows", nil)
		if err != nil {
			return "", page{}, err
		}
		for _, w := range workflows {
			if w.Status != "archived" {
				view.Running = append(view.Running, w.Name)
			}
		}
	}
	return "edit", page{Title: "Script", Nav: "edit", Body: view, Snapshot: true}, nil
}

// deploy checks the script of a form, deploys it, or repairs the workflow with it, as its button says.
func (c *Console) deploy(w http.ResponseWriter, r *http.Request) {
	v := c.post(w, r)
	if v == nil {
		return
	}
	form := r.PostForm
	view := editView{Workflow: form.Get("workflow"), Version: form.Get("version"), Filename: form.Get("filename"),
		Note: form.Get("note"), Repairs: form.Get("repairs") != "", Sent: true}
	runs, err := v.runs(view.Workflow)
	if err != nil {
		c.refuse(w, r, v, problemOf(err))
		return
	}
	view.Source = withEndsOf(runs, form.Get("source"))
	view.Unsaved = view.Source != runs
	fields := map[string]any{"source": view.Source}
	if view.Filename != "" {
		fields["filename"] = view.Filename
	}
	status := http.StatusOK
	switch form.Get("do") {
	case "repair":
		fields["workflow"], fields["note"] = view.Workflow, view.Note
		if view.Version != "" {
			fields["expectedVersion"] = view.Version
		}
		var done struct{ Version eventlog.Version }
		if done, err = ask[struct{ Version eventlog.Version }](v, "repairWorkflow", fields); err == nil {
			c.deployed(w, v, view.Workflow, "Repaired: version "+string(done.Version)+" runs now.")
			return
		}
	case "deploy":
		if err = v.meansThat(&view, fields); err != nil {
			break
		}
		if view.Version != "" {
			fields["expectedVersion"] = view.Version
		}
		var done struct {
			Name    string
			Version eventlog.Version
			Changed bool
			Asks    []string
		}
		if done, err = ask[struct {
			Name    string
			Version eventlog.Version
			Changed bool
			Asks    []string
		}](v, "deployWorkflow", fields); err == nil {
			said := "Deployed: version " + string(done.Version) + " runs now."
			if !done.Changed {
				said = "Nothing was changed: these bytes run already."
			}
			if len(done.Asks) > 0 {
				said += " It asks before each call of " + listOf(done.Asks) + "."
			}
			c.deployed(w, v, done.Name, said)
			return
		}
	case "compare":
		fields["workflow"], fields["last"], fields["repair"] = view.Workflow, comparedRuns, view.Repairs
		var effects effectsView
		if effects, err = ask[effectsView](v, "diffWorkflow", fields); err == nil {
			view.Effects = &effects
		}
	default:
		var checked struct {
			OK       bool
			Problems []sandbox.Problem
		}
		if checked, err = ask[struct {
			OK       bool
			Problems []sandbox.Problem
		}](v, "validateScript", fields); err == nil {
			view.Checked, view.OK, view.Problems = true, checked.OK, checked.Problems
		}
	}
	if err != nil {
		var p *rpc.Problem
		if !errors.As(err, &p) {
			c.refuse(w, r, v, problemOf(err))
			return
		}
		view.Refusal, view.Problems, status = p, p.Problems, p.Status
	}
	view.mark(view.Problems...)
	c.render(w, v, status, "edit", page{Title: "Script", Nav: "edit", Body: view, Snapshot: true})
}

// meansThat refuses a script that would replace another workflow than that of its page.
func (v *visit) meansThat(view *editView, script map[string]any) error {
	checked, err := ask[struct{ Workflow *string }](v, "validateScript", script)
	switch {
	case err != nil:
		return err
	case checked.Workflow == nil || *checked.Workflow == view.Workflow:
		return nil // the deploy reports what is wrong with a script without a name
	case view.Workflow != "":
		return rpc.Problemf(http.StatusConflict, "script.otherWorkflow",
			"The script names the workflow %s, and this page is about %s.", clip(80, *checked.Workflow), view.Workflow).
			WithHint("Change the name back, or open “Scripts” to begin another workflow.")
	}
	_, err = ask[readmodel.Workflow](v, "getWorkflow", map[string]any{"workflow": *checked.Workflow})
	var p *rpc.Problem
	switch {
	case err == nil:
		return rpc.Problemf(http.StatusConflict, "workflow.exists", "There is a workflow %s already, and this would "+
			"replace its script.", clip(80, *checked.Workflow)).
			WithHint("Give the new workflow another name, or change the script of " + clip(80, *checked.Workflow) +
				" on its own page.")
	case errors.As(err, &p) && p.Status == http.StatusNotFound:
		return nil
	}
	return err
}

func (c *Console) deployed(w http.ResponseWriter, v *visit, workflow, said string) {
	v.say(w, said)
	v.lead(w, Base+"workflows/"+url.PathEscape(workflow)+"#deployed") // the page's script forgets the draft
}

// runs is the source that a workflow runs now; for a new workflow, firstScript.
func (v *visit) runs(workflow string) (string, error) {
	if workflow == "" {
		return firstScript, nil
	}
	s, err := ask[readmodel.Script](v, "getSource", map[string]any{"workflow": workflow})
	return s.Source, err
}

// newer tells the page of the editor, which does not update itself, that another version runs than the one that it
// began with.
func (c *Console) newer(w http.ResponseWriter, r *http.Request) {
	v := c.admit(w, r)
	if v == nil {
		return
	}
	q := r.URL.Query()
	is, err := ask[readmodel.Workflow](v, "getWorkflow", map[string]any{"workflow": q.Get("workflow")})
	if err != nil {
		rpc.WriteProblem(w, problemOf(err))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if string(is.Version) != q.Get("version") {
		_, _ = fmt.Fprintf(w, "Version %s runs now: it was deployed after version %s, with which this page began. "+
			"What you write stays as it is. <a href=\"%s\" target=\"_blank\">What runs now</a>",
			template.HTMLEscapeString(string(is.Version)), template.HTMLEscapeString(q.Get("version")),
			template.HTMLEscapeString(path("workflows", is.Name, "script")))
	}
}

// withEndsOf gives a text from a form the line ends of the text that the form was filled with, since a browser always
// sends CRLF. So a text that was not changed is the same, byte for byte.
func withEndsOf(original, sent string) string {
	plainEnds := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	sent = plainEnds.Replace(sent)
	switch lines := strings.Count(original, "\n"); {
	case sent == plainEnds.Replace(original):
		return original
	case lines > 0 && strings.Count(original, "\r\n") == lines:
		return strings.ReplaceAll(sent, "\n", "\r\n")
	}
	return sent
}

func listOf(names []string) string {
	out := ""
	for i, n := range names {
		if i > 0 {
			out += ", "
		}
		out += n
	}
	return out
}
