package decide_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// ruleID finds the ids at the front of a name: F02_F07_class, R4_R5_NoCall.
var ruleID = regexp.MustCompile(`^([RFOSJ])0?([1-9][0-9]?)(?:_|$)`)

func ruleIDs(name string) (ids []string) {
	for m := ruleID.FindStringSubmatch(name); m != nil; m = ruleID.FindStringSubmatch(name) {
		ids = append(ids, m[1]+m[2])
		name = name[len(m[0]):]
	}
	return ids
}

// Every rule has a table test that bears its id: examples under testdata/rules, or, where another package
// keeps the rule, a test function there.
func TestEveryRuleHasItsTable(t *testing.T) {
	t.Parallel()
	tables := map[string][]string{}
	files, err := os.ReadDir("testdata/rules")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("testdata/rules", file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("\nwhen\n")) && !bytes.HasPrefix(text, []byte("when\n")) {
			t.Errorf("%s decides nothing", file.Name())
		}
		for _, id := range ruleIDs(file.Name()) {
			tables[id] = append(tables[id], file.Name())
		}
	}
	for _, root := range []string{"../../sandbox", "../../engine"} {
		for _, name := range testFunctions(t, root) {
			for _, id := range ruleIDs(strings.TrimPrefix(name, "Test")) {
				tables[id] = append(tables[id], name)
			}
		}
	}
	for prefix, last := range map[string]int{"R": 19, "F": 14, "O": 11, "S": 8, "J": 6} {
		for n := 1; n <= last; n++ {
			if id := prefix + strconv.Itoa(n); len(tables[id]) == 0 {
				t.Errorf("rule %s has no table test that bears its id", id)
			}
		}
		if id := fmt.Sprint(prefix, last+1); len(tables[id]) > 0 {
			t.Errorf("%v test rule %s, which is not among the rules looked for here", tables[id], id)
		}
	}
}

// testFunctions lists the test functions of a folder and of those below it.
func testFunctions(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
