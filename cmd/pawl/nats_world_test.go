package main

import (
	"bytes"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/projections/readmodel"
)

// impatient makes every wait short and every attempt cheap.
const impatient = `
policies:
  transient: {base: 50ms, factor: 1, max: 50ms, retries: 1000}
  reconcile: {base: 50ms, factor: 1, max: 50ms, attempts: 1000}
`

// toolWorld is the real program with the real example, which waits for its tools.
type toolWorld struct {
	t      *testing.T
	dir    string
	engine *engineProcess
	book   book
}

func newToolWorld(t *testing.T, config string, args ...string) *toolWorld {
	t.Helper()
	dir := place(t, map[string]string{"example.js": read(t, "../../sandbox/testdata/example.js"), "pawl.yaml": config})
	w := &toolWorld{t: t, dir: dir, book: book{filepath.Join(dir, "sheet")}}
	w.engine = w.spawn("pawl", append([]string{"up", "example.js", "--nats-listen", ":0"}, args...)...)
	w.await(w.engine, `^pawl: NATS listens on .*connector\.url$`)
	return w
}

func (w *toolWorld) spawn(program string, args ...string) *engineProcess {
	w.t.Helper()
	return w.run(program, nil, args...)
}

func (w *toolWorld) run(program string, in io.Reader, args ...string) *engineProcess {
	w.t.Helper()
	cmd := command(w.t, w.dir, program, args...)
	cmd.Stdin = in
	p := spawn(w.t, cmd)
	w.t.Cleanup(func() { // before the directory goes
		_ = cmd.Process.Kill()
		p.done.Wait()
		_ = cmd.Wait()
	})
	return p
}

// address is where tools connect.
func (w *toolWorld) address() *url.URL {
	w.t.Helper()
	u, err := url.Parse(strings.TrimSpace(read(w.t, filepath.Join(w.dir, ".pawl", "nats", "connector.url"))))
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

// tool starts tools and waits until they serve. What is written to the pipe releases what they hold.
func (w *toolWorld) tool(address *url.URL, args ...string) (*engineProcess, *io.PipeWriter) {
	w.t.Helper()
	out, in := io.Pipe()
	p := w.run("pawl-tools", out, append([]string{"-url", address.String(), "-book", w.book.path}, args...)...)
	w.t.Cleanup(func() { _ = in.Close() })
	w.await(p, `^serving$`)
	return p, in
}

func (w *toolWorld) await(p *engineProcess, pattern string) {
	w.t.Helper()
	if !p.waitFor(regexp.MustCompile("(?m)"+pattern), longest) {
		w.t.Fatalf("never printed %s:\n%s\nengine:\n%s", pattern, p.text(), w.engine.text())
	}
}

// wantRows wants each mail's row once.
func (w *toolWorld) wantRows(n int) {
	w.t.Helper()
	var got, want []string
	for _, row := range w.book.rows() {
		got = append(got, strings.Join(row.Values, " "))
	}
	for _, mail := range inbox(n) {
		want = append(want, mail["from"]+" "+mail["subject"])
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("rows %q, want %q\nengine:\n%s", got, want, w.engine.text())
	}
}

// wantMutations wants the ledger to say what happened: status and source of the outcome, the oldest first.
func (w *toolWorld) wantMutations(d *daemon, want ...string) {
	w.t.Helper()
	var page readmodel.Page[readmodel.Mutation]
	d.get("/v1/mutations?order=asc", &page)
	var got []string
	for _, m := range page.Items {
		by := ""
		if m.ResolvedBy != nil {
			by = " " + *m.ResolvedBy
		}
		got = append(got, string(m.Status)+by)
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("mutations %q, want %q\nengine:\n%s", got, want, w.engine.text())
	}
}

// awaitRest waits until nothing is left to do, and wants next to have heard of its row.
func (w *toolWorld) awaitRest() *daemon {
	w.t.Helper()
	d := answering(w.t, w.engine)
	w.await(w.engine, `all caught up`)
	var events readmodel.Page[readmodel.Event]
	d.get("/v1/events?topic=row.created", &events)
	if len(events.Items) != 1 || !bytes.Contains(events.Items[0].Payload, []byte(`"rowId":`)) {
		w.t.Errorf("events %+v", events.Items)
	}
	return d
}
