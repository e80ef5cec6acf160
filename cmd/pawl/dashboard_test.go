package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is the part of Grafana's file that asks for figures.
type dashboard struct {
	Panels []struct {
		Title   string
		Type    string
		Targets []struct{ Expr string }
		GridPos struct{ X, Y, W, H int }
	}
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, "packaging/grafana-dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// expressions are what the dashboard asks for, with what Grafana puts in.
func (d dashboard) expressions() (all []string) {
	put := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$instance", ".*")
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			all = append(all, put.Replace(target.Expr))
		}
	}
	return all
}

// Each figure that the dashboard asks for is exported, with the labels that it is grouped by.
func TestDashboardNamesFiguresThatExist(t *testing.T) {
	t.Parallel()
	_, collector := newCollected(t)
	dir := place(t, map[string]string{
		"w.ts": `export default Pawl.workflow({ name: "w", topics: { "in": {} }, consumers: { c: Pawl.consumer({
  subscribe: ["in"], concurrency: 2, async prepare() { return { reservations: [], data: null }; } }) } });`,
		"pawl.yaml": "feed: true\nfeed-bytes: 16MiB\ntraces: " + collector + "\n" +
			"subscriptions: {s: {url: \"http://127.0.0.1:9/\", secret: \"${file:secret}\", private: true}}\n",
		"secret": webhookSecret,
	})
	p := startDaemon(t, dir, "pawl", "up", "w.ts", "--data", "data")
	p.atRest("w")
	figures := string(p.call(http.StatusOK, http.MethodGet, "/metrics", nil))
	p.stop()
	labels := map[string]string{} // of each figure, as it is exported
	for _, sample := range regexp.MustCompile(`(?m)^([a-z_]+)(\{.*\})? `).FindAllStringSubmatch(figures, -1) {
		labels[sample[1]] += sample[2]
	}
	d := readDashboard(t)
	if len(d.expressions()) < 20 {
		t.Fatalf("the dashboard asks for %d figures", len(d.expressions()))
	}
	for _, e := range d.expressions() {
		named := regexp.MustCompile(`[a-z_]+\{`).FindAllString(e, -1)
		if len(named) == 0 {
			t.Errorf("%s asks for no figure", e)
		}
		for _, name := range named {
			name = strings.TrimSuffix(name, "{")
			of, exported := labels[name]
			if !exported {
				t.Errorf("%s: there is no figure %s", e, name)
			}
			by := regexp.MustCompile(`by \(([a-z_, ]+)\)`).FindStringSubmatch(e)
			if by == nil || of == "" {
				continue
			}
			for label := range strings.SplitSeq(by[1], ", ") {
				if !strings.Contains(of, label+`="`) {
					t.Errorf("%s: %s has no label %s", e, name, label)
				}
			}
		}
	}
	for _, name := range []string{"pawl_workflows_blocked", "pawl_held", "pawl_runs_total",
		"pawl_trace_spans_sent_total"} {
		if !slices.ContainsFunc(d.expressions(), func(e string) bool { return strings.Contains(e, name+"{") }) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

// No panel lies over another one, or beside the page.
func TestDashboardPanelsHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	type place struct{ x, y int }
	taken := map[place]string{}
	for _, panel := range readDashboard(t).Panels {
		at := panel.GridPos
		if at.X+at.W > 24 || at.W == 0 || at.H == 0 {
			t.Errorf("%s is at %+v", panel.Title, at)
		}
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other, is := taken[place{x, y}]; is {
					t.Fatalf("%s lies over %s", panel.Title, other)
				}
				taken[place{x, y}] = panel.Title
			}
		}
	}
}

// Prometheus reads what the dashboard asks for.
func TestDashboardIsValid(t *testing.T) {
	t.Parallel()
	program := installed(t, "promtool")
	found := func(expressions []string) (string, error) {
		type rule struct {
			Record string `json:"record"`
			Expr   string `json:"expr"`
		}
		var rules []rule
		for i, e := range expressions {
			rules = append(rules, rule{"pawl:panel_" + strings.Repeat("i", i+1), e})
		}
		file := filepath.Join(t.TempDir(), "rules.yaml") // of which JSON is a part
		text, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), program, "check", "rules", file).CombinedOutput()
		return string(out), err
	}
	all := readDashboard(t).expressions()
	if said, err := found(all); err != nil || !strings.Contains(said, "SUCCESS") {
		t.Errorf("promtool (%v) says:\n%s", err, said)
	}
	if said, err := found(append(all, "sum(rate(pawl_runs_total[5m])")); err == nil {
		t.Errorf("promtool says of an open bracket:\n%s", said)
	}
}
