package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/ops/rpc"
)

// engine is a workflow that wants a repair, until it gets a good one.
type engine struct {
	mu sync.Mutex
	// minor is raised by each repair; wanted says that one is asked for.
	minor, attempt int
	run            int // the number of its last run that failed
	wanted         bool
	// deployed are the times of earlier repairs.
	deployed []time.Time
	calls    []string
}

const now = "2026-03-01T12:00:00Z"

func (e *engine) Do(_ context.Context, operation string, params, out any) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	answer := ""
	switch operation {
	case "listWorkflows":
		repair := "null"
		if e.wanted {
			repair = fmt.Sprintf(`{"attempt": %d}`, e.attempt)
		}
		answer = fmt.Sprintf(`{"items": [{"name": "w", "version": "1.%d", "repair": %s}, {"name": "fine", "version": "1.0",
			"repair": null}], "next": null}`, e.minor, repair)
	case "listWorkflowRuns":
		answer = fmt.Sprintf(`{"items": [{"id": "RUN%d"}]}`, e.run)
	case "getWorkflow":
		answer = `{"repair": {}}`
		if !e.wanted {
			answer = `{"repair": null}`
		}
	case "getEvidence":
		answer = `{"workflow": "w", "source": "broken"}`
	case "repairWorkflow":
		source := params.(map[string]any)["source"].(string)
		if version := fmt.Sprintf("1.%d", e.minor); params.(map[string]any)["expectedVersion"] != version {
			return rpc.Problemf(409, "version.moved", "it runs version %s", version)
		}
		e.calls = append(e.calls, strings.TrimSpace(source))
		switch {
		case !e.wanted:
			return rpc.Problemf(409, "repair.notRequested", "there is nothing to repair")
		case !strings.Contains(source, "good"):
			e.attempt++
			e.wanted = e.attempt < 3
			return rpc.Problemf(422, "repair.refused", "line 1 is wrong")
		}
		e.minor++
		e.wanted = false
		answer = fmt.Sprintf(`{"version": "1.%d"}`, e.minor)
	default:
		return errors.New("nobody expects " + operation)
	}
	return json.Unmarshal([]byte(answer), out)
}

func (e *engine) Log(ctx context.Context, query rpc.LogQuery) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if query.Follow {
			<-ctx.Done()
			return
		}
		if query.Type != "workflow.deployed" {
			return
		}
		for _, at := range e.deployed {
			if !yield(fmt.Appendf(nil, `{"at": %q, "events": [{"data": {"repair": true}}]}`, at.Format(time.RFC3339)), nil) {
				return
			}
		}
	}
}

// scripted answers one text after the other, and keeps what it was given.
type scripted struct {
	answers []string
	given   []string
}

func (s *scripted) Maintain(_ context.Context, _ string, evidence json.RawMessage) ([]byte, error) {
	s.given = append(s.given, string(evidence))
	if len(s.given) > len(s.answers) {
		return nil, errors.New("it has no more answers")
	}
	return []byte(s.answers[len(s.given)-1]), nil
}

// once runs a loop until nothing is left to do, and returns what it reported.
func once(t *testing.T, l *Loop) (reports []string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	l.Now = func() time.Time { return at }
	l.Report = func(workflow, what string) { reports = append(reports, workflow+" "+what) }
	if err := l.Run(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	return reports
}

// A workflow whose maintainer has failed is cared for again after the pause, and a new failure behind a proposal at
// once: the loop looks as long as it runs.
func TestTheLoopComesBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proposals string
		asked     int
	}{
		"a maintainer that fails three times":    {asked: 4},
		"a proposal, and a new failure after it": {proposals: t.TempDir(), asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &engine{wanted: true, attempt: 1}
				asked := 0
				l := &Loop{Client: e, Proposals: c.proposals, Report: func(string, string) {}}
				l.Maintainer = maintainerFunc(func() ([]byte, error) {
					time.Sleep(time.Second) // so the pause does not end with a look
					if asked++; asked < 4 && c.proposals == "" {
						return nil, errors.New("it fails")
					}
					return []byte("good"), nil
				})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- l.Run(ctx, false) }()
				time.Sleep(10 * DefaultPause)
				e.mu.Lock()
				e.run++
				e.mu.Unlock()
				time.Sleep(10 * DefaultPause)
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if asked != c.asked {
					t.Errorf("the maintainer was asked %d times, want %d", asked, c.asked)
				}
			})
		})
	}
}

type maintainerFunc func() ([]byte, error)

func (f maintainerFunc) Maintain(context.Context, string, json.RawMessage) ([]byte, error) {
	return f()
}

// What the engine refuses goes back to the maintainer, with the reason, until it is accepted or the budget is spent
// (F9).
func TestRefusedRepairsGoBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answers  []string
		repaired bool
	}{
		{[]string{"good"}, true},
		{[]string{"bad", "```ts\ngood\n```\n"}, true},
		{[]string{"bad", "worse", "good"}, false},
	} {
		e, m := &engine{wanted: true, attempt: 1}, &scripted{answers: c.answers}
		reports := once(t, &Loop{Client: e, Maintainer: m})
		if got := e.minor == 1; got != c.repaired {
			t.Errorf("%q: repaired %t: %q", c.answers, got, reports)
		}
		if len(m.given) > 1 && !strings.Contains(m.given[1], `"refused":[{"source":"bad\n","detail":"line 1 is wrong"`) {
			t.Errorf("the maintainer was not told of its refused answer: %s", m.given[1])
		}
		if !c.repaired && len(m.given) != 2 {
			t.Errorf("the maintainer was asked %d times with a budget of two refusals", len(m.given))
		}
	}
}

// Nothing is repaired in quiet hours, beyond the bound of a day, of other workflows, or instead of a person.
func TestWhatIsNotRepaired(t *testing.T) {
	t.Parallel()
	noon, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := ParseQuiet("11:00-13:00", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	linked := filepath.Join(t.TempDir(), "script.ts")
	if err := errors.Join(os.WriteFile(linked, []byte("untouched"), 0o600),
		os.Symlink(linked, filepath.Join(dir, "w.ts"))); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		loop     *Loop
		deployed []time.Time
		report   string
		asked    int
	}{
		"quiet": {&Loop{Quiet: quiet}, nil, "waits for the end of the quiet hours at 13:00 UTC", 0},
		"bound": {&Loop{PerDay: 2}, []time.Time{noon.Add(-time.Hour), noon.Add(-2 * time.Hour)}, "a person must look", 0},
		"other": {&Loop{Workflows: []string{"another"}}, nil, "", 0},
		"mute":  {&Loop{}, nil, "", 1},
		"proposed": {&Loop{Proposals: dir}, nil, "a repair is proposed: mended; look at it, then: pawl repair w " +
			filepath.Join(dir, "w.ts"), 1},
	} {
		e, m := &engine{wanted: true, attempt: 1, deployed: c.deployed}, &scripted{}
		switch what {
		case "mute":
			m.answers, c.report = []string{""}, "is not repaired: read the maintainer's answer: it answered nothing"
		case "proposed":
			m.answers = []string{`{"source": "good", "note": "mended"}`}
		}
		c.loop.Client, c.loop.Maintainer = e, m
		reports := once(t, c.loop)
		if len(e.calls) > 0 || len(m.given) != c.asked {
			t.Errorf("%s: repaired %q, asked %d times", what, e.calls, len(m.given))
		}
		if said := strings.Join(reports, "\n"); c.report == "" && said != "" || !strings.Contains(said, c.report) {
			t.Errorf("%s: reported %q", what, said)
		}
	}
	if text, err := os.ReadFile(linked); err != nil || string(text) != "untouched" {
		t.Errorf("what a link in the folder leads to holds %q, %v", text, err)
	}
	for file, want := range map[string]string{"w.ts": "good", "w.before.ts": "broken"} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v", file, text, err)
		}
	}
	// Repairs that are older than a day count no more.
	e, m := &engine{wanted: true, attempt: 1, deployed: []time.Time{noon.Add(-25 * time.Hour)}}, &scripted{
		answers: []string{"good"}}
	if once(t, &Loop{Client: e, Maintainer: m, PerDay: 1}); !slices.Equal(e.calls, []string{"good"}) {
		t.Errorf("with a repair of yesterday: %q", e.calls)
	}
}

// A maintainer may answer a script, a block of code or an object, and nothing else.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"export default 1": "export default 1\n", "Here:\n```ts\na\nb\n```\nDone.": "a\nb\n",
		`{"source": "x", "note": "n"}`: "x", "": "", "  \n": "", "```\na\n```\n```\nb\n```": "",
	} {
		if got, err := parse([]byte(text)); got.Source != want || (err == nil) != (want != "") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// A command that fails, takes too long or writes too much is no answer.
func TestCommands(t *testing.T) {
	t.Setenv("PAWL_TOKEN", "secret")
	shows := Command{Line: `printf '%s%s:' "$PAWL_TOKEN" "$PAWL_WORKFLOW"; cat`}
	out, err := shows.Maintain(t.Context(), "w", json.RawMessage(`{"a":1}`))
	if err != nil || string(out) != `w:{"a":1}` {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := (Command{Line: "exit 3"}).Maintain(t.Context(), "w", nil); err == nil {
		t.Error("a command that fails has answered")
	}
	if _, err := (Command{Line: "head -c 5000000 /dev/zero"}).Maintain(t.Context(), "w", nil); err == nil ||
		!strings.Contains(err.Error(), "more than") {
		t.Errorf("too much: %v", err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("too slow"))
	defer cancel()
	if _, err := (Command{Line: "exec sleep 60"}).Maintain(ctx, "w", nil); err == nil ||
		!strings.Contains(err.Error(), "too slow") {
		t.Errorf("too long: %v", err)
	}
}
