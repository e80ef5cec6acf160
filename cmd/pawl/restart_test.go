package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/example"
)

// A process that follows a killed one tells and counts what it does itself, all of that and nothing
// else, whether it reads the end of the log again or, without its local store, all of it.
func TestRestartTellsOnlyWhatItDoes(t *testing.T) {
	long(t)
	t.Parallel()
	script, err := example.Files.ReadFile("mail-to-sheet.ts")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sentence string
		lose     []string
		rows     []string // that the second process makes, or finds to be made
		sum      string
	}{
		"rows made and recorded": {"applied:3", nil, []string{"4", "5"}, "2 changes made"},
		"rows made and recorded, store gone": {"applied:3", []string{"data/store"}, []string{"4", "5"},
			"2 changes made"},
		"a row made and not recorded": {"after:3", nil, []string{"3", "4", "5"}, "3 changes made, 1 run failed"},
		"a row made and not recorded, store gone": {"after:3", []string{"data/store"}, []string{"3", "4", "5"},
			"3 changes made, 1 run failed"},
		"a row begun and not made": {"before:3", nil, []string{"3", "4", "5"}, "3 changes made, 1 run failed"},
		"nothing begun of what is yet to be done": {"any:1", nil, []string{"1", "2", "3", "4", "5"},
			"5 changes made(, [1-9] runs? failed)?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{
				"mail-to-sheet.ts": string(script), "sheets/.keep": "", "inbox/cur/.keep": "", "inbox/tmp/.keep": "",
				"pawl.yaml": "connectors:\n  maildir: {root: ./inbox}\n  csv: {root: ./sheets, timeout: 200ms}\npolicies:\n" +
					"  reconcile: {base: 50ms, factor: 2, max: 1s, attempts: 5}\n",
			}
			for i := range 5 {
				files[fmt.Sprintf("inbox/new/170000000%d.M.host",
					i)] = fmt.Sprintf("From: a%d@example.org\r\nSubject: Report %d\r\n\r\nText\r\n", i, i)
			}
			dir := place(t, files)
			if out, err := killedUp(t, dir, c.sentence); err == nil || !strings.Contains(out, "KILLED") {
				t.Fatalf("the process did not die of %s: %v\n%s", c.sentence, err, out)
			}
			for _, path := range c.lose {
				if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(path))); err != nil {
					t.Fatal(err)
				}
			}
			out, err := killedUp(t, dir, "")
			if err != nil {
				t.Fatalf("the second process: %v\n%s", err, out)
			}
			var rows []string
			for _, line := range regexp.MustCompile(`(?m)✓ Add row for .* → reports\.csv row (\d+)`).FindAllStringSubmatch(out,
				-1) {
				rows = append(rows, line[1])
			}
			if !slices.Equal(rows, c.rows) {
				t.Errorf("it told of the rows %v, want %v:\n%s", rows, c.rows, out)
			}
			mustSay(t, out, "^all caught up: "+c.sum+"$")

			out, err = killedUp(t, dir, "")
			if err != nil {
				t.Fatalf("the third process: %v\n%s", err, out)
			}
			mustSay(t, out, "^all caught up: nothing new had to be done$")
			if strings.Contains(out, "✓") {
				t.Errorf("it told of what was done before:\n%s", out)
			}
		})
	}
}
