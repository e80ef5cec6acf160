package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// built is the program under test, made once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pawl-browser")
	if err != nil {
		return "", err
	}
	made = dir
	return build(context.Background(), dir)
})

var made string

func TestMain(m *testing.M) {
	code := m.Run()
	if made != "" {
		_ = os.RemoveAll(made)
	}
	os.Exit(code)
}

// program is the built program, where a browser is there too; else the test is left out.
func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program and starts a browser: left out with -short")
	}
	if _, err := chromium(); errors.Is(err, errNoChromium) {
		t.Skip("no Chromium in the PATH; .ci/run installs it")
	}
	pawl, err := built()
	must(t, err)
	return pawl
}

// empty is a world in an empty folder.
func empty(t *testing.T) *world {
	t.Helper()
	w, err := newWorld(t.Context(), program(t), t.TempDir())
	t.Cleanup(w.close)
	must(t, err)
	return w
}

// started is a world in an empty folder, and a browser without a login.
func started(t *testing.T) (*world, *browser) {
	t.Helper()
	w := empty(t)
	return w, opened(t, w)
}

// opened is a browser without a login, in front of the world.
func opened(t *testing.T, w *world) *browser {
	t.Helper()
	b, err := launch(t.Context(), w)
	must(t, err)
	t.Cleanup(b.close)
	return b
}

// axe is the checker of accessibility. Where it is not installed, missing says why a test has none.
func axe(t *testing.T) (checker, missing string) {
	t.Helper()
	const packages = "PAWL_TEST_PACKAGES"
	folder := os.Getenv(packages)
	if _, err := exec.LookPath("node"); err != nil || folder == "" {
		return "", "no Node.js, or " + packages + " names no folder with packages of npm; .ci/run has both"
	}
	source, err := os.ReadFile(filepath.Join(folder, "browser", "node_modules", "axe-core", "axe.min.js"))
	must(t, err)
	return string(source), ""
}

// violations are the serious findings of the checker on the page that is shown, on each screen. What depends on colours
// alone is all that can differ between light and dark.
func violations(t *testing.T, b *browser, checker, path string) (serious []string) {
	t.Helper()
	_, err := evaluate[bool](b, checker+";true")
	must(t, err)
	for _, s := range screens {
		must(t, b.show(s))
		options := `{resultTypes: ["violations"]}`
		if s.dark {
			options = `{resultTypes: ["violations"], runOnly: ["color-contrast", "link-in-text-block"]}`
		}
		found, err := evaluate[string](b, `axe.run(document, `+options+`).then(r => JSON.stringify(
			r.violations.filter(v => v.impact === "serious" || v.impact === "critical").map(v => ({id: v.id, help: v.help,
			at: v.nodes.slice(0, 5).map(n => n.target.join(" ") + ": " + n.failureSummary)}))))`)
		must(t, err)
		var rules []struct {
			ID, Help string
			At       []string
		}
		must(t, json.Unmarshal([]byte(found), &rules))
		for _, r := range rules {
			serious = append(serious, fmt.Sprintf("%s on %s: %s (%s)\n  %s", path, s.name, r.ID, r.Help,
				strings.Join(r.At, "\n  ")))
		}
	}
	return serious
}

// Each view that a link of the console leads to is shown without a complaint of the browser, on a desk and on a phone:
// on the latter, nothing lies beside the screen. What the outside has written changes no page. A checker of
// accessibility has no serious finding, in light and in dark.
func TestViews(t *testing.T) {
	t.Parallel()
	checker, missing := axe(t)
	w, b := started(t)
	must(t, w.fill(t.Context(), hostileTitles))
	var serious []string
	if missing == "" {
		must(t, b.visit("/login"))
		serious = violations(t, b, checker, "/login")
	}
	must(t, b.logIn("admin"))
	views, err := b.views()
	must(t, err)
	quiet(t, b, "following the links")
	for _, name := range []string{"home", "workflows-mail-to-books"} {
		if views[name] == "" {
			t.Errorf("there is no view %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(views)) {
		path := views[name]
		must(t, b.visit(path))
		for _, s := range screens {
			must(t, b.show(s))
			wide, err := evaluate[float64](b, `document.documentElement.scrollWidth - innerWidth`)
			if err != nil || wide > 0 {
				t.Errorf("%s on %s is %v pixels wider than the screen (%v)", path, s.name, wide, err)
			}
		}
		title, err := evaluate[string](b, `document.title`)
		if err != nil || strings.Contains(title, "owned") && !strings.Contains(title, "<script>") {
			t.Errorf("%s has the title %q (%v)", path, title, err)
		}
		n, err := evaluate[int](b,
			`document.querySelectorAll("main script:not([src]), main img[src^='x'], main [onerror]").length`)
		if err != nil || n > 0 {
			t.Errorf("%s holds %d elements that a title has written (%v)", path, n, err)
		}
		quiet(t, b, path)
		if missing == "" {
			serious = append(serious, violations(t, b, checker, path)...)
			b.complaints() // of the checker
		}
	}
	t.Run("accessibility", func(t *testing.T) {
		if missing != "" {
			t.Skip(missing)
		}
		for _, finding := range serious {
			t.Error(finding)
		}
	})
	t.Run("titles", func(t *testing.T) {
		must(t, b.visit("/ui/workflows/mail-to-books"))
		text, err := b.text()
		must(t, err)
		for _, want := range []string{"<script>document.title", "<img src=x", "🧾 emoji", "{{.Title}} ${title}"} {
			if !strings.Contains(text, want) {
				t.Errorf("the page does not show %s:\n%s", want, text)
			}
		}
		if strings.ContainsAny(text, "\u202e\u2066\u2069") {
			t.Error("a title reorders the text of the page")
		}
	})
}

// What happens is seen at once by a person who looks at a page, without opening it again.
func TestPagesAreLive(t *testing.T) {
	t.Parallel()
	w, b := started(t)
	must(t, w.deploy(t.Context(), "mail-to-books"))
	must(t, b.logIn("viewer"))
	must(t, b.visit("/ui/workflows/mail-to-books"))
	_, err := evaluate[bool](b, `document.body.dataset.same = "yes", true`)
	must(t, err)
	must(t, w.push(t.Context(), "mail-to-books", "mail", event{"m-1", "Order of Zoe", map[string]any{"total": 1}}))
	must(t, w.until(t.Context(), "the page shows the mail", func() (bool, error) {
		text, err := b.text()
		return strings.Contains(text, "Order of Zoe"), err
	}))
	same, err := evaluate[bool](b, `document.body.dataset.same === "yes"`)
	if err != nil || !same {
		t.Errorf("the page was opened again: %v", err)
	}
	quiet(t, b, "looking on")
}

// A page is shown only after a login, and a link logs in once.
func TestLinksWorkOnce(t *testing.T) {
	t.Parallel()
	w, b := started(t)
	res, err := http.Get(w.url + "/ui/workflows/empty")
	must(t, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusNotFound {
		t.Errorf("a stranger is answered %d", res.StatusCode)
	}
	link, err := w.link(t.Context(), "viewer")
	must(t, err)
	must(t, b.do(chromedp.Navigate(link), chromedp.WaitVisible(chromedp.CSS("form.who"))))
	b.complaints()
	must(t, b.press("form.who button"))
	must(t, b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(link)))
	must(t, w.until(t.Context(), "the link is refused", func() (bool, error) {
		text, err := b.text()
		return strings.Contains(text, "used already"), err
	}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// quiet wants the browser to have no complaints.
func quiet(t *testing.T, b *browser, when string) {
	t.Helper()
	for _, said := range b.complaints() {
		t.Errorf("%s: %s", when, said)
	}
}
