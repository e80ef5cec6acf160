package feed

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/eventlog"
)

var update = flag.Bool("update", false, "write facts.json anew from the comments of the facts")

// The document says of each fact what the comment of its Go type says.
func TestMeaningsAreThoseOfTheTypes(t *testing.T) {
	t.Parallel()
	comments := commentsOfTypes(t)
	meant := map[string]string{}
	for _, kind := range Published() {
		name := reflect.TypeOf(eventlog.NewFact(kind)).Elem().Name()
		text := comments[name]
		said, ok := strings.CutPrefix(text, name+": ")
		if !ok {
			t.Fatalf("the comment of %s, %q, does not say what the fact means", name, text)
		}
		first, size := utf8.DecodeRuneInString(said)
		meant[string(kind)] = string(unicode.ToUpper(first)) + said[size:]
	}
	want, err := json.MarshalIndent(meant, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("facts.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("facts.json")
	if err != nil || !bytes.Equal(have, want) {
		t.Errorf("facts.json is not what the facts' comments say (%v): go test ./ops/feed -run Meanings -update", err)
	}
}

// ruleNames are references to rules, which are of no use to a reader of the document.
var ruleNames = regexp.MustCompile(` \([A-Z]\d+[a-z]?(, [A-Z]\d+[a-z]?)*\)`)

// commentsOfTypes are the comments of all types of package eventlog, each in one line.
func commentsOfTypes(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../eventlog/*.go")
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				text := strings.Join(strings.Fields(spec.Doc.Text()), " ")
				comments[spec.Name.Name] = ruleNames.ReplaceAllString(text, "")
			}
			return true
		})
	}
	return comments
}
