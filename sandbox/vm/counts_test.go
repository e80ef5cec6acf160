package vm_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

const counted = `const twice = (n: number) => n * 2;
export default Pawl.workflow({
  name: "counted",
  topics: { t: {} },
  producers: {
    p: {
      interval: "1m",
      async handler(ctx, state: { n: number } | undefined) {
        const n = state?.n ?? 0;
        if (n > 1) return { n };
        for (let i = 0; i < 3; i++) ctx.log(i);
        try {
          if (n === 1) throw "one";
        } catch {
          return { n: -1 };
        }
        switch (n) {
          case 0:
            return { n: twice(n + 1) };
          default:
            ctx.log("never");
        }
      },
    },
  },
});
`

// A counted script answers how often each of its statements has run, and works as it does otherwise.
func TestStatementsAreCounted(t *testing.T) {
	t.Parallel()
	e := vm.NewExecutor(vm.Config{})
	defer e.Close()
	for state, want := range map[string]string{
		`{"n":0}`: `{"n":2}: 1:30x1 9x1 10x1 10:20x0 11x1 11:37x3 12x1 13x1 13:24x0 15x0 17x1 19x1 21x0`,
		`{"n":1}`: `{"n":-1}: 1:30x0 9x1 10x1 10:20x0 11x1 11:37x3 12x1 13x1 13:24x1 15x1 17x0 19x0 21x0`,
		`{"n":5}`: `{"n":5}: 1:30x0 9x1 10x1 10:20x1 11x0 11:37x0 12x0 13x0 13:24x0 15x0 17x0 19x0 21x0`,
	} {
		call := sandbox.Invocation{
			Source: sandbox.Source{Filename: "counted.ts", Code: counted, Counted: true}, Phase: sandbox.Producer, Handler: "p",
			State: json.RawMessage(state), Topics: []string{"t"},
		}
		result, err := e.Invoke(t.Context(), call, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s: %s", result.Value, counts(result.Counts)); got != want {
			t.Errorf("of %s\n%s, want\n%s", state, got, want)
		}
		call.Source.Counted = false
		plain, err := e.Invoke(t.Context(), call, nil)
		if err != nil || string(plain.Value) != string(result.Value) || plain.Counts != nil {
			t.Errorf("of %s, not counted: %s with counts %v, %v", state, plain.Value, plain.Counts, err)
		}
	}
}

// counts lists statements by their places; of those that begin a line only the line.
func counts(list []sandbox.Count) string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b sandbox.Count) int { return (a.Line-b.Line)*1000 + a.Column - b.Column })
	var texts []string
	line := 0
	for _, c := range list {
		at := fmt.Sprint(c.Line)
		if c.Line == line || c.Line == 1 {
			at = fmt.Sprintf("%d:%d", c.Line, c.Column)
		}
		line = c.Line
		texts = append(texts, fmt.Sprintf("%sx%d", at, c.Runs))
	}
	return strings.Join(texts, " ")
}

// The time of a still call stands where it began.
func TestTimeOfAStillCallStands(t *testing.T) {
	t.Parallel()
	e := vm.NewExecutor(vm.Config{})
	defer e.Close()
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	result, err := e.Invoke(t.Context(), sandbox.Invocation{
		Source: sandbox.Source{Filename: "still.ts", Code: `export default Pawl.workflow({ name: "still", topics: {}, producers: {
			p(ctx) {
				const seen = new Set<string>();
				for (let i = 0; i < 200000; i++) if (i % 1000 === 0) seen.add(new Date().toISOString() + ctx.now());
				return [...seen];
			},
		} });`}, Phase: sandbox.Producer, Handler: "p", Now: now, Still: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(`["2026-03-01T08:00:00.000Z%d"]`, now.UnixMilli()); string(result.Value) != want {
		t.Errorf("it saw the times %s, want %s", result.Value, want)
	}
}
