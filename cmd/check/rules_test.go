package main

import (
	"maps"
	"strings"
	"testing"
)

// aRulebook is a small module whose rules are in order.
func aRulebook() map[string]string {
	return map[string]string{
		rulebook: "# Rules\n\n### R1 Phases\n\nTests: [R01_phases](testdata/rules/R01_phases).\n\n" +
			"### F12 Late answers\n\nTests:\n[TestF12_Late](../late_test.go).\n\n" +
			"### Startup Orphans\n\n[TestStartup_Orphans](../late_test.go)\n\n## Rest\n",
		ruleScripts + "/R01_phases": "# R1 as it is\ngiven\ndeploy\n----\n\nwhen\npush a\n----\n",
		"engine/late_test.go":       "package engine\n\nfunc TestF12_Late() {}\n\nfunc TestStartup_Orphans() {}\n",
		"engine/a.go":               "package engine\n\n// F12 and R1, not %C3%A9.\nfunc f() { _ = \"R99 is no comment\" }\n",
		"README.md":                 "Rule R1, see (F12).\n",
	}
}

func TestRules(t *testing.T) {
	type texts = map[string]string
	const script = ruleScripts + "/R01_phases"
	book := aRulebook()[rulebook]
	tests := []struct {
		name   string
		change map[string]string // file to text; "" takes the file away
		want   []string          // parts of the one finding; none: in order
	}{
		{"in order", nil, nil},
		{"no rulebook", texts{rulebook: ""}, []string{"rule F12 is cited, and there is no " + rulebook}},
		{"cited in a comment", texts{"engine/b.go": "package engine\n\n/* keeps R7 */\n"},
			[]string{"engine/b.go:3: rule R7 is cited and not defined"}},
		{"cited at the end of a sentence", texts{"engine/b.go": "package engine // kept by (S3/S4, S5).\n"},
			[]string{"b.go:1: rule S5"}},
		{"cited twice in a row", texts{"engine/b.go": "package engine // R1 R8.\n"},
			[]string{"b.go:1: rule R8"}},
		{"cited by a test's name", texts{"engine/b_test.go": "package engine\n\nfunc TestR7_Sticky() {}\n"},
			[]string{"b_test.go:3: rule R7"}},
		{"cited by a subtest's name", texts{"engine/b_test.go": "package engine\n\nvar x = \"S2 too short\"\n"},
			[]string{"b_test.go:3: rule S2"}},
		{"the name of a run in a test", texts{"engine/b_test.go": "package engine\n\nvar x, y = \"R7\", \"M1\"\n"}, nil},
		{"cited in a document", texts{"README.md": "Rule J6 holds.\n"}, []string{"README.md:1: rule J6"}},
		{"cited in a script of the command line", texts{"cmd/x/testdata/a.txtar": "exec x R5\n# as O5 says\n"},
			[]string{"a.txtar:2: rule O5"}},
		{"cited in a declaration", texts{"sandbox/types.d.ts": "let O4; // once (R4)\n"},
			[]string{"types.d.ts:1: rule R4"}},
		{"cited by a rule script", texts{script: "# R1\nwhen\npush\n----\n# but R3\n"},
			[]string{script + ":5: rule R3"}},
		{"cited by the name of a rule script", texts{ruleScripts + "/R02_more": "\nwhen\n"},
			[]string{ruleScripts + "/R02_more: rule R2 is not defined"}},
		{"a run in a rule script", texts{script: "when\npush\n----\nrun R7 x\n"}, nil},
		{"without a test", texts{rulebook: book + "\n### J1 Attempts\n\nThey count.\n"},
			[]string{"rule J1 links no test that bears its id"}},
		{"with another rule's test", texts{rulebook: book + "\n### J1 Attempts\n\n[TestF12_Late](../late_test.go)\n"},
			[]string{"rule J1 links no test that bears its id"}},
		{"with a link after its section",
			texts{rulebook: book + "\n### J1 Attempts\n\n## Rest\n\n[TestJ1_A](../b_test.go)\n",
				"engine/b_test.go": "package engine\n\nfunc TestJ1_A() {}\n"},
			[]string{"rule J1 links no test"}},
		{"defined twice", texts{rulebook: book + "\n### R1 Again\n\n[R01_phases](testdata/rules/R01_phases)\n"},
			[]string{"rule R1 is defined in line 3 already"}},
		{"a script that two rules link not", texts{ruleScripts + "/R1_F12_both": "when\n"},
			[]string{"R1_F12_both tests rule R1", "does not link it", "tests rule F12"}},
		{"a word's script", texts{ruleScripts + "/startup_more": "when\n"},
			[]string{"startup_more tests rule Startup"}},
		{"a script of no rule", texts{ruleScripts + "/limits": "when\n"},
			[]string{"limits: rule limits is not defined"}},
		{"a script without a rule's name", texts{ruleScripts + "/x1": "when\n"},
			[]string{"x1 bears the name of no rule"}},
		{"a script that decides nothing", texts{ruleScripts + "/R01_phases": "given\ndeploy\n----\n"},
			[]string{"R01_phases decides nothing", "rule R1 links no test"}},
		{"a function that has moved",
			texts{"engine/late_test.go": "package engine\n\nfunc TestStartup_Orphans() {}\n",
				"engine/x/x_test.go": "package x\n\nfunc TestF12_Late() {}\n"},
			[]string{"engine/late_test.go has no function TestF12_Late; it is in engine/x/x_test.go", "rule F12 links no test"}},
		{"a function that is gone", texts{"engine/late_test.go": "package engine\n\nfunc TestStartup_Orphans() {}\n"},
			[]string{"has no function TestF12_Late", "rule F12 links no test"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := aRulebook()
			maps.Copy(files, tt.change)
			maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
			found := strings.Join(treeOf(t, files).rules(), "\n")
			if len(tt.want) == 0 && found != "" {
				t.Errorf("got %q, want nothing", found)
			}
			for _, part := range tt.want {
				if !strings.Contains(found, part) {
					t.Errorf("got %q, want it to hold %q", found, part)
				}
			}
		})
	}
}

func TestLinks(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a file, a folder, a page, a heading",
			"[a](a.go) [b](sub) [c](https://example.org/x#y) [d](sub/b.md#the-end-of-it) [e](#here)\n# Here\n", ""},
		{"a missing file", "\n[a](sub/a.go)\n", "doc.md:2: the link to sub/a.go is dead: there is no sub/a.go"},
		{"a missing heading", "[d](sub/b.md#start)", "sub/b.md has no heading #start"},
		{"a missing heading of its own", "[d](#start)", "doc.md has no heading #start"},
		{"the second of two headings", "# A b\n# A `b`\n[x](#a-b-1)", ""},
		{"code as a link's text", "[`a.go`](b.go)", "there is no b.go"},
		{"a link in code", "`[a](b.go)`\n```\n[a](b.go)\n```\n~~~\n[a](b.go)\n~~~\n", ""},
		{"after a code block", "```go\nx\n```\n[a](b.go)", "doc.md:4"},
		{"a picture", "<picture><source srcset=\"dark.svg\"><img src=\"a.go\"></picture>", "there is no dark.svg"},
		{"an image", "![a](a.svg)", "there is no a.svg"},
		{"out of the module", "[a](../x)", "there is no ../x"},
		{"an id in a tag", "<a id=\"x1\"></a>\n[a](#x1)", ""},
		{"no address", "[a](%zz)", "invalid URL escape"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := treeOf(t, map[string]string{"doc.md": tt.text, "a.go": "package a\n", "sub/b.md": "# The *end*, of it!\n"})
			if tt.want == "" {
				one(t, tree.links())
				return
			}
			one(t, tree.links(), tt.want)
		})
	}
}
