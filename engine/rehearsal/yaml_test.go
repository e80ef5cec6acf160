package rehearsal_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/rehearsal"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// inYAML runs cases of the YAML form.
func inYAML(t *testing.T, cases string) string {
	t.Helper()
	said, _ := runSuite(t, sheets(t), orders, func(scripts sandbox.Executor) (rehearsal.Suite, error) {
		return rehearsal.ReadYAML(t.Context(), scripts, sandbox.Source{Filename: "orders.test.yaml", Code: cases}, nil)
	})
	return said
}

// Each step can be written in YAML, in its short and its long form.
func TestYAMLSaysTheSame(t *testing.T) {
	t.Parallel()
	said := inYAML(t, `
# Comments, and values in both styles.
tools: { shop.list: list }
cases:
  an event:
    - clock: 2026-03-01T08:00:00Z
    - state: book
      value: { n: 4 }
    - push: placed
      events:
        - messageId: o-1
          title: Order 1
          payload: { id: o-1, total: 20, note: "yes", on: true, none: null, 1: one, __proto__: kept }
    - answer: csv.appendRow
      with: { file: orders.csv }
      result: { row: 7 }
    - run
    - expectCall: csv.appendRow
      params:
        file: orders.csv
        values: { id: o-1, total: 20, note: "yes", on: true, none: ~, "1": one, __proto__: kept,
                  at: "2026-03-01T08:00:00.000Z", n: 5 }
    - expectNoCalls
    - expectEvents: placed
      events: [{ messageId: o-1, status: consumed }]
    - expectState: book
      value: { n: 5 }
    - expectState: poll
    - expectLog: o-1 is applied
    - expectWaiting: scheduled
  polled, and again:
    - answer: shop.list
      result: { orders: [] }
    - poll:
    - advance: 10m
    - expectState: poll
      value: { after: "" }
  a failure, a crash and a lost answer:
    - push: placed
      events: { messageId: a, payload: { id: a } }
    - fail: csv.appendRow
    - crash
    - run
    - expectCall: csv.appendRow
    - expectCall: csv.appendRow
    - crash: run.committed
    - answer: csv.appendRow
      lost: unknown
    - push: placed
      events: { messageId: b, payload: { id: b } }
    - fail: csv.appendRow
      fails: { class: precondition, message: the sheet is gone }
    - expectCall: csv.appendRow
    - expectWaiting: blocked
      message: the sheet is gone
    - resume
    - expectCall: csv.appendRow
    - expectWaiting: indeterminate
    - resolve: happened
      result: { row: 3 }
    - expectEvents: booked
      events: [{}, { title: Row 3 }]
  people:
    - grants: { csv.appendRow: ask }
    - push: placed
      events: [{ messageId: a, payload: { id: a } }, { messageId: b, payload: { id: b } }]
    - reject
    - approve
    - expectCall: csv.appendRow
  events that are put aside:
    - push: placed
      events: [{ messageId: a, payload: { id: a, total: -1 } }]
    - run
    - skip: placed
      ids: [a]
    - expectEvents: placed
      events: [{ status: skipped }]
    - expectWaiting: maintenance
      code: script.threw
      line: 20
`)
	if said != "" {
		t.Error(said)
	}
}

// What does not hold is said with the line of the YAML file.
func TestYAMLNamesItsLines(t *testing.T) {
	t.Parallel()
	said := inYAML(t, `tools: { shop.list: list }
cases:
  one:
    - push: placed
      events: { messageId: a, payload: { id: a } }


    - expectCall: csv.appendRow
      params:
        file: other.csv
    - expectState: book
      value: { n: 2 }
`)
	want := `one:8: csv.appendRow was called with other parameters [file: "orders.csv", not "other.csv"] ` +
		`[values: {"at":"2026-01-01T00:00:00.000Z","id":"a","n":1}, not ]
one:11: book remembers something else [n: 1, not 2]`
	if said != want {
		t.Errorf("it says\n%s, want\n%s", said, want)
	}
}

// A file that is none is refused with the line of its mistake.
func TestYAMLThatDeclaresNoTests(t *testing.T) {
	t.Parallel()
	scripts := vm.NewExecutor(vm.Config{})
	t.Cleanup(func() { _ = scripts.Close() })
	for _, c := range []struct{ text, want string }{
		{"", "0: the file is empty"},
		{"cases:\n  one: [", "2: this is no YAML: "},
		{"cases:\n  one:\n    - run\n  one:\n    - run\n",
			"4: this is no YAML: mapping key \"one\" already defined at [2:3]"},
		{"cases: {}\n---\ncases: {}\n", "3: a second YAML document begins here"},
		{"- run\n", "1: the file must be keys with values"},
		{"case:\n  one: []\n", `1: the file has no key "case"; it has cases, tools, vars`},
		{"tools: {}\n", "1: the file has no cases"},
		{"cases:\n  one: run\n", "2: the case one must be a list of steps"},
		{"cases:\n  one:\n    - run\n    - 7\n", "4: a step is a name such as run"},
		{"cases:\n  one:\n    - go\n", `3: there is no step "go"; there are advance, answer, approve,`},
		{"cases:\n  one:\n    - events: []\n      psh: placed\n", `3: there is no step "events"`},
		{"cases:\n  one:\n    - push\n", "3: push says of what: write push: and its value"},
		{"cases:\n  one:\n    - poll: 3\n", "3: poll takes no value"},
		{"cases:\n  one:\n    - run\n    - push: placed\n      advance: 1h\n", "5: push and advance are two steps"},
		{"cases:\n  one:\n    - push: placed\n      event: []\n", `4: the step push has no key "event"; it has push, events`},
		{"cases:\n  one:\n    - push: placed\n      events: [{ id: a }]\n",
			"3: TypeError: an event has no member id; it has"},
		{"cases:\n  one:\n\n    - answer: csv.appendRow\n", "4: TypeError: an answer is one of { result }, { fails } and"},
		{"cases:\n  one:\n    - run\n    - clock: 2026-01-01\n", "4: TypeError: clock stands before the first step"},
		{"cases:\n  one:\n    - clock: soon\n", "3: TypeError: clock takes a time such as"},
		{"cases:\n  one:\n    - push: &a placed\n", "3: anchors, aliases, tags"},
		{"cases:\n  one:\n    - push: placed\n      events: [{ messageId: a, payload: !!binary aGk= }]\n",
			"4: anchors, aliases, tags"},
		{"cases:\n  one:\n    - push: placed\n      events: [{ messageId: a, payload: .nan }]\n",
			"4: anchors, aliases, tags"},
		{"cases:\n  one:\n    - recorded: ../a.yaml\n",
			"3: recorded names the file ../a.yaml, and these tests have no files"},
	} {
		_, err := rehearsal.ReadYAML(t.Context(), scripts, sandbox.Source{Filename: "a.test.yaml", Code: c.text}, nil)
		var bad *rehearsal.ReadError
		if !errors.As(err, &bad) || !strings.HasPrefix(fmt.Sprintf("%d: %s", bad.Line, bad.Message), c.want) {
			t.Errorf("%s\nis refused with %+v, want %s", c.text, err, c.want)
		}
	}
}

// A recorded case gives its clock, its state and its steps to another one, which expects what it likes.
func TestRecordedCaseIsLoaded(t *testing.T) {
	t.Parallel()
	files := map[string]string{"late.test.yaml": `tools: { shop.list: list }
cases:
  a late order:
    - clock: 2026-03-01T08:00:00Z
    - state: book
      value: { n: 4 }
    - answer: csv.appendRow
      result: { row: 7 }
    - push: placed
      events: { messageId: o-1, payload: { id: o-1 } }
    - run
    - expectCall: csv.appendRow
      params: { file: other.csv }
`}
	beside := func(name string) (string, error) {
		text, ok := files[name]
		if !ok {
			return "", os.ErrNotExist
		}
		return text, nil
	}
	read := func(code string) func(sandbox.Executor) (rehearsal.Suite, error) {
		return func(scripts sandbox.Executor) (rehearsal.Suite, error) {
			return rehearsal.Read(t.Context(), scripts, sandbox.Source{Filename: "orders.test.ts", Code: code}, beside)
		}
	}
	said, _ := runSuite(t, sheets(t), orders, read(`export default Pawl.tests({
  "as it was"(t) {
    t.recorded("late.test.yaml");
    t.expectCall("csv.appendRow", { file: "orders.csv", values: { id: "o-1", at: "2026-03-01T08:00:00.000Z", n: 5 } });
    t.expectEvents("booked", [{ title: "Row 7" }]);
  },
  "with another state"(t) {
    t.state("book", { n: 7 });
    t.recorded("late.test.yaml", "a late order");
    t.expectCall("csv.appendRow");
    t.expectState("book", { n: 8 });
  },
});`))
	if said != "" {
		t.Error(said)
	}

	scripts := vm.NewExecutor(vm.Config{})
	t.Cleanup(func() { _ = scripts.Close() })
	for _, c := range []struct{ step, want string }{
		{`t.recorded("../late.test.yaml")`, "2: recorded takes a file of this folder"},
		{`t.recorded("early.test.yaml")`, "2: read early.test.yaml: file does not exist"},
		{`t.recorded("late.test.yaml", "an early order")`,
			"2: recorded names no case of late.test.yaml; it has a late order"},
		{`t.run(); t.recorded("late.test.yaml")`, "2: TypeError: recorded stands before the first step of a case"},
	} {
		_, err := read("export default Pawl.tests({\n one(t) { " + c.step + " } });")(scripts)
		var bad *rehearsal.ReadError
		if !errors.As(err, &bad) || !strings.HasPrefix(fmt.Sprintf("%d: %s", bad.Line, bad.Message), c.want) {
			t.Errorf("%s is refused with %+v, want %s", c.step, err, c.want)
		}
	}
}
