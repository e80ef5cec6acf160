package guide

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// The guide is cut at its headings, and nothing inside of its code is taken for one.
func TestSections(t *testing.T) {
	t.Parallel()
	page := "# Page\n## One\na\n```\n## not one\n```\n### Below\nb\n## Two\n### 1. A recipe\nc\n### 2. Another\nd\n"
	want := map[string]string{"one": "## One\na\n```\n## not one\n```\n### Below\nb\n",
		"two":               "## Two\n### 1. A recipe\nc\n### 2. Another\nd\n",
		"recipe-1-a-recipe": "### 1. A recipe\nc\n", "recipe-2-another": "### 2. Another\nd\n"}
	got := Sections(page)
	if len(got) != len(want) {
		t.Errorf("%d sections: %+v", len(got), got)
	}
	for _, s := range got {
		if want[s.Name] != s.Text {
			t.Errorf("%s: %q", s.Name, s.Text)
		}
	}
	if whole := Sections(sandbox.Guide); len(whole) < 20 {
		t.Errorf("the guide has %d sections", len(whole))
	}
}

// The contract holds the parts that it is made of, is one page, and leads nowhere.
func TestContract(t *testing.T) {
	t.Parallel()
	contract := Contract()
	for _, part := range []string{"## What a workflow is", "## What may be called where", "## What does not exist",
		"## When something fails", "pawl validate", "| `fetch`"} {
		if !strings.Contains(contract, part) {
			t.Errorf("the contract lacks %q", part)
		}
	}
	if lines := strings.Count(contract, "\n"); lines > 300 {
		t.Errorf("the contract has %d lines", lines)
	}
	for _, link := range []string{"](#", "](.."} {
		if strings.Contains(contract, link) {
			t.Errorf("the contract has a link %s that leads nowhere", link)
		}
	}
}
