package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The reference server of a file system is a connector: a workflow reads and writes through it, and its process reaches
// no other folder of the machine.
func TestFilesystemServerIsAConnector(t *testing.T) {
	modules := packages(t, "mcp")
	dir := t.TempDir()
	server := filepath.Join(modules, "@modelcontextprotocol", "server-filesystem", "dist", "index.js")
	settings := fmt.Sprintf(`connectors:
  mcp:
    notes:
      command: [node, %q, %q, %q]
      read: [%q]
      write: [./notes]
      tools:
        write_file:
          verify: {tool: read_text_file, arguments: {path: "{path}"}, applied: {result: {content: "{content}"}}}
`, server, filepath.Join(dir, "notes"), filepath.Join(dir, "other"), modules)
	workflow := `export default Pawl.workflow({
  name: "copy",
  topics: { note: {} },
  consumers: {
    copy: Pawl.consumer({
      subscribe: ["note"],
      async prepare(ctx) {
        const [note] = await ctx.peek("note", { limit: 1 });
        if (!note) return { reservations: [], data: null };
        const { content } = await ctx.notes.read_text_file({ path: note.payload.from });
        return { reservations: [{ topic: "note", ids: [note.id] }], data: { path: note.payload.to, content },
          ui: { title: "Write " + note.payload.to } };
      },
      async mutate(ctx, { data }) { await ctx.notes.write_file(data); },
    }),
  },
});
`
	for _, folder := range []string{"notes", "other"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"pawl.yaml": settings, "copy.ts": workflow, "notes/a.txt": "from a",
		"other/secret.txt": "secret"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := startDaemon(t, dir, "pawl", "up", "copy.ts")
	d.await(`deployed copy 1\.0`)
	shown := mustRun(t, dir, 0, "pawl", "connectors", "show", "notes")
	if !strings.Contains(shown, "notes.read_text_file  list") ||
		!strings.Contains(shown, "notes.write_file  mutate") {
		t.Errorf("connectors show: %s", shown)
	}
	mustRun(t, dir, 0, "pawl", "push", "copy", "note", "--id", "n1", "--title", "A note",
		fmt.Sprintf(`{"from": %q, "to": %q}`, filepath.Join(dir, "notes/a.txt"), filepath.Join(dir, "notes/b.txt")))
	d.await(`Write .*b\.txt`)
	if got := read(t, filepath.Join(dir, "notes/b.txt")); got != "from a" {
		t.Errorf("b.txt holds %q", got)
	}
	// The server itself would read this folder; the system does not let its process.
	out, code := runProgram(t, dir, "pawl", "connectors", "call", "notes.read_text_file",
		fmt.Sprintf(`{"path": %q}`, filepath.Join(dir, "other/secret.txt")))
	if code != 1 || strings.Contains(out, `"secret"`) || !strings.Contains(out, "failed") {
		t.Errorf("another folder: exit code %d, %s", code, out)
	}
	d.stop()
}
