package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog/durable"
)

// A changed file waits for the tools that it needs; changed once more, it does not.
func TestWatchWaitsForTools(t *testing.T) {
	long(t)
	t.Parallel()
	script := strings.ReplaceAll(smallScript, "NAME", "idle")
	calling := func(operation string) string {
		return strings.Replace(script, "(ctx) {}", "(ctx) { await ctx."+operation+"({}); }", 1)
	}
	dir := place(t, map[string]string{"idle.ts": script})
	w := &toolWorld{t: t, dir: dir, book: book{filepath.Join(dir, "sheet")}}
	w.engine = w.spawn("pawl", "up", "idle.ts", "--nats-listen", ":0")
	w.await(w.engine, `^pawl: answering`)
	save := func(text string) {
		t.Helper()
		if err := durable.WriteFile(filepath.Join(dir, "idle.ts"), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	save(calling("nobody.list"))
	w.await(w.engine, `^pawl: \./idle\.ts waits for nobody\.list: start the tools that serve them$`)
	save(script + "\n// mended")
	w.await(w.engine, `^pawl: idle is now 2\.0, from \./idle\.ts$`)
	save(calling("gmail.search"))
	w.await(w.engine, `^pawl: \./idle\.ts waits for gmail\.search: start the tools that serve them$`)
	w.tool(w.address(), "-serve", "search")
	w.await(w.engine, `^pawl: idle is now 3\.0, from \./idle\.ts$`)

	// An interrupt does not wait for tools.
	save(calling("nobody.get"))
	w.await(w.engine, `^pawl: \./idle\.ts waits for nobody\.get`)
	answering(t, w.engine).stop()
	if strings.Contains(w.engine.text(), "not deployed") {
		t.Errorf("something was refused:\n%s", w.engine.text())
	}
}
