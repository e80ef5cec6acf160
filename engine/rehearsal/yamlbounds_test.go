package rehearsal

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// A test file is read in this process: what would take all of its memory is refused before it is parsed.
func TestYAMLIsBounded(t *testing.T) {
	deep := func(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	block := func(key string, n int) string {
		var text strings.Builder
		for i := range n {
			text.WriteString(strings.Repeat(" ", i) + key + "\n")
		}
		return text.String()
	}
	step := "cases:\n  a:\n    - push: t\n      events: { messageId: \"1\", payload: "
	for name, c := range map[string]struct{ text, says string }{
		"lists":               {step + deep("[", "]", 400_000) + " }\n", "nested too deep"},
		"mappings":            {step + deep("{a: ", "}", 200_000) + " }\n", "nested too deep"},
		"lists that stay":     {step + strings.Repeat("[", 100_000), "nested too deep"},
		"blocks":              {block("a:", 100), "nested too deep"},
		"dashes":              {strings.Repeat("- ", 1000) + "a\n", "nested too deep"},
		"keys":                {strings.Repeat("? ", 1000) + "a\n", "nested too deep"},
		"tags":                {"a: " + strings.Repeat("!t ", 1000) + "b\n", "nested too deep"},
		"blocks and comments": {strings.ReplaceAll(block("a:", 100), "\n", "\n# c\n"), "nested too deep"},
		"too large":           {step + "\"" + strings.Repeat("x", MaxYAML) + "\" }\n", "at most 1048576 are allowed"},
		"too many values":     {step + "[" + strings.Repeat("1,", maxYAMLTokens/2) + "1] }\n", "more than 150000 names"},
		"as deep as may be":   {step + deep("[", "]", maxYAMLDepth-5) + " }\n", ""},
		"brackets in texts":   {step + "\"" + strings.Repeat("[{", 1000) + "\" }\n", ""},
		"many beside others":  {step + "[" + strings.Repeat("[{a: 1}, 2], ", 1000) + "] }\n", ""},
		"many steps": {"cases:\n  a:\n" + strings.Repeat("    - push: t\n      events:\n        - messageId: \"1\"\n"+
			"          payload: {a: [1]}\n", 500), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := translate(c.text)
			var refused *ReadError
			if c.says == "" && err != nil || c.says != "" && (!errors.As(err, &refused) ||
				!strings.Contains(refused.Message, c.says)) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

// To read the dearest file that is taken takes bounded memory, much of it not at the same time.
func TestYAMLTakesBoundedMemory(t *testing.T) {
	head, tail := "cases:\n  a:\n    - push: t\n      events: { messageId: \"1\", payload: [", "1] }\n"
	text := head + strings.Repeat("1,", maxYAMLTokens/2-20) + tail
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := translate(text); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 200 {
		t.Errorf("%d MiB were allocated for %d bytes", took, len(text))
	}
}
