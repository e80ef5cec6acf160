package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

func TestScriptsAreUTF8(t *testing.T) {
	for text, want := range map[string]string{
		"caf\xe9":                 "a.ts:1: byte 4 of the line, 0xe9, is no UTF-8",
		"one\n// \u00e9\ncaf\xe9": "a.ts:3: byte 4 of the line, 0xe9, is no UTF-8",
		"\xff\xfea\x00":           "a.ts:1: byte 1 of the line, 0xff, is no UTF-8",
		"cut \xc3":                "a.ts:1: byte 5 of the line, 0xc3, is no UTF-8",
		"caf\u00e9 \ufffd":        "",
		"\ufeffcaf\u00e9":         "",
		"":                        "",
	} {
		path := filepath.Join(t.TempDir(), "a.ts")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(path)
		var f *exit.Failure
		switch {
		case want == "":
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
		case !errors.As(err, &f) || f.Code != exit.CodeFailed || !strings.HasSuffix(err.Error(), want):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
