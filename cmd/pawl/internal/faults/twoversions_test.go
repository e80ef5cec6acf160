//go:build unix

package faults

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newerMark in a script makes the newer program write what the present one does not read.
const newerMark = "needs the newer format"

// newer turns the present sources into those of a next version: a log has one more format, which a deploy of a marked
// script needs, and whose fact the present version cannot decode.
var newer = map[string][]string{ // by file: a text, and what is in its place
	"eventlog/format.go": {
		"package eventlog\n", "package eventlog\n\nimport \"strings\"\n",
		"const FormatVersion = formatDeadLetters\n", "const FormatVersion = formatDeadLetters + 1\n",
		"\tcase *WorkflowDeployed:\n", "\tcase *WorkflowDeployed:\n\t\tif strings.Contains(f.Source, \"" + newerMark +
			"\") {\n\t\t\treturn FormatVersion\n\t\t}\n",
	},
	"eventlog/workflow_events.go": {
		"package eventlog\n", "package eventlog\n\nimport \"strings\"\n",
		"func (f *WorkflowDeployed) needs() int {\n", "func (f *WorkflowDeployed) needs() int {\n" +
			"\tif strings.Contains(f.Source, \"" + newerMark + "\") {\n\t\treturn 6\n\t}\n",
	},
	"eventlog/fact.go": {
		"{5, func() Fact { return new(WorkflowDeployed) }}", "{6, func() Fact { return new(WorkflowDeployed) }}",
	},
	"eventlog/codec.go": {"4: unchanged},\n\t\"workflow.backoff", "4: unchanged, 5: unchanged},\n\t\"workflow.backoff"},
}

// buildTwo builds the program as it is and as a next version, unless dir has them already.
func buildTwo(t *testing.T, dir string) (present, next string) {
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	present, next = filepath.Join(dir, "pawl-present"), filepath.Join(dir, "pawl-next")
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, texts := range newer {
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		text := string(source)
		for i := 0; i < len(texts); i += 2 {
			if strings.Count(text, texts[i]) != 1 {
				t.Fatalf("%s has %q %d times: change the replacements to what it is now", file, texts[i],
					strings.Count(text, texts[i]))
			}
			text = strings.Replace(text, texts[i], texts[i+1], 1)
		}
		changed := filepath.Join(t.TempDir(), filepath.Base(file))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, file)] = changed
	}
	replacements := filepath.Join(t.TempDir(), "overlay.json")
	text, err := json.Marshal(overlay)
	if err == nil {
		err = os.WriteFile(replacements, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for program, more := range map[string][]string{present: nil, next: {"-overlay", replacements}} {
		if _, err := os.Stat(program); err == nil {
			t.Logf("%s is there already", program)
			continue
		}
		args := append([]string{"build", "-buildvcs=false", "-o", program}, more...)
		build := exec.Command("go", append(args, "./cmd/pawl")...)
		build.Dir = root
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", program, err, out)
		}
	}
	return present, next
}
