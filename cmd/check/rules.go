package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	ruleHeading = regexp.MustCompile(`^### (\S+) \S`)
	// leadingRule finds a rule at the front of a test's name: F02_F07_class, Startup_OrphansAreShown, causes.
	leadingRule = regexp.MustCompile(`^(?:([RFOSJC])0?([1-9][0-9]?)|([A-Za-z]{3,}))(?:_|$)`)
	// citedRule finds an id in a text. The characters that may be around an id keep out %C3, "R1" and file names.
	citedRule = regexp.MustCompile(`(?:^|[\s(\[*,;:–])([RFOSJC])0?([1-9][0-9]?)(?:$|[\s)\]*,;:.–?!'’-])`)
)

// rule is one section of the rulebook.
type rule struct {
	id    string
	line  int
	links []link
}

// rules checks that every rule has a test, that every test script belongs to a rule, and that every id
// that is cited is defined. A module without the rulebook has no rules to cite.
func (t *tree) rules() []string {
	text, ok := t.texts[rulebook]
	if !ok {
		if cited := t.citedRules(); len(cited) > 0 {
			return []string{fmt.Sprintf("%s: rule %s is cited, and there is no %s", cited[0].at, cited[0].id, rulebook)}
		}
		return nil
	}
	book, found := readRulebook(string(text))
	functions := t.testFunctions()
	for _, id := range slices.Sorted(maps.Keys(book)) {
		found = append(found, t.ruleTests(book[id], functions)...)
	}
	for _, c := range t.citedRules() {
		if _, ok := book[c.id]; !ok {
			found = append(found, fmt.Sprintf("%s: rule %s is cited and not defined in %s", c.at, c.id, rulebook))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.texts)) {
		if path.Dir(name) == ruleScripts {
			found = append(found, t.ruleScript(name, book)...)
		}
	}
	return found
}

// readRulebook finds the rules and their links, and reports a rule that is defined twice.
func readRulebook(text string) (book map[string]*rule, found []string) {
	book = make(map[string]*rule)
	var current *rule
	for line, s := range outsideCode(text) {
		if strings.HasPrefix(s, "#") {
			current = nil
		}
		if m := ruleHeading.FindStringSubmatch(s); m != nil {
			if twin := book[m[1]]; twin != nil {
				found = append(found, fmt.Sprintf("%s:%d: rule %s is defined in line %d already", rulebook, line, m[1], twin.line))
			}
			current = &rule{id: m[1], line: line}
			book[m[1]] = current
		}
		if current != nil {
			current.links = append(current.links, linksOf(s, line)...)
		}
	}
	return book, found
}

// ruleTests reports a rule without a test that bears its id, and a link to a test that is not there.
func (t *tree) ruleTests(r *rule, functions map[string][]string) (found []string) {
	tested := false
	for _, l := range r.links {
		target := path.Join(path.Dir(rulebook), l.target)
		name := l.text
		switch {
		case path.Dir(target) == ruleScripts:
			name = path.Base(target)
			if !decides(t.texts[target]) {
				continue
			}
		case strings.HasPrefix(name, "Test"):
			if !slices.Contains(functions[name], target) {
				found = append(found, fmt.Sprintf("%s:%d: %s has no function %s%s",
					rulebook, l.line, target, name, elsewhere(functions[name])))
				continue
			}
		default:
			continue
		}
		tested = tested || slices.Contains(rulesOf(name), ruleKey(r.id))
	}
	if !tested {
		found = append(found, fmt.Sprintf("%s:%d: rule %s links no test that bears its id: "+
			"a script with a `when` in %s or a function Test%s_…", rulebook, r.line, r.id, ruleScripts, r.id))
	}
	return found
}

func elsewhere(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return "; it is in " + strings.Join(files, ", ")
}

// ruleScript reports a script that decides nothing, and one that a rule of its name does not link.
func (t *tree) ruleScript(name string, book map[string]*rule) (found []string) {
	if !decides(t.texts[name]) {
		found = append(found, name+" decides nothing: it has no `when`")
	}
	keys := rulesOf(path.Base(name))
	if len(keys) == 0 {
		found = append(found, name+" bears the name of no rule")
	}
	for _, key := range keys {
		r := ruleOf(book, key)
		switch {
		case r == nil:
			found = append(found, fmt.Sprintf("%s: rule %s is not defined in %s", name, key, rulebook))
		case !slices.ContainsFunc(r.links, func(l link) bool { return path.Join(path.Dir(rulebook), l.target) == name }):
			found = append(found, fmt.Sprintf("%s tests rule %s, whose section in %s does not link it", name, r.id, rulebook))
		}
	}
	return found
}

func decides(script []byte) bool {
	return bytes.HasPrefix(script, []byte("when\n")) || bytes.Contains(script, []byte("\nwhen\n"))
}

// rulesOf are the keys of the rules at the front of the name of a test: F2 and F7 of F02_F07_class, and
// a word if the name begins with one.
func rulesOf(name string) (keys []string) {
	name = strings.TrimPrefix(name, "Test")
	for m := leadingRule.FindStringSubmatch(name); m != nil; m = leadingRule.FindStringSubmatch(name) {
		if m[3] != "" {
			if len(keys) == 0 {
				keys = append(keys, strings.ToLower(m[3]))
			}
			break
		}
		keys = append(keys, m[1]+m[2])
		name = name[len(m[0]):]
	}
	return keys
}

func ruleOf(book map[string]*rule, key string) *rule {
	for _, r := range book {
		if ruleKey(r.id) == key {
			return r
		}
	}
	return nil
}

// ruleKey is a rule's id as rulesOf writes it.
func ruleKey(id string) string {
	if keys := rulesOf(id); len(keys) > 0 {
		return keys[0]
	}
	return id
}

// testFunctions are the test functions of the module and the files that hold one of that name.
func (t *tree) testFunctions() map[string][]string {
	functions := make(map[string][]string)
	for _, f := range t.files {
		if f.syntax == nil || !f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				functions[fn.Name.Name] = append(functions[fn.Name.Name], f.path)
			}
		}
	}
	return functions
}

// cite is an id and the place where it is cited.
type cite struct{ id, at string }

// citedRules finds ids in the comments and test names of Go files, in documents, and in the
// comments of scripts.
func (t *tree) citedRules() (all []cite) {
	for _, f := range t.files {
		if f.syntax != nil {
			all = append(all, t.citedInGo(f)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.texts)) {
		line := 0
		for s := range strings.Lines(string(t.texts[name])) {
			line++
			for _, id := range citesIn(said(name, s)) {
				all = append(all, cite{id, name + ":" + strconv.Itoa(line)})
			}
		}
	}
	return all
}

// citedInGo looks at comments, at the names of test functions, and at strings that begin with an id and a text
// behind it, as the names of subtests do.
func (t *tree) citedInGo(f *sourceFile) (all []cite) {
	take := func(at token.Pos, ids []string) {
		for _, id := range ids {
			all = append(all, cite{id, t.at(at)})
		}
	}
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			take(c.Pos(), citesIn(strings.Trim(c.Text, "/*")))
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if f.test && strings.HasPrefix(n.Name.Name, "Test") {
				take(n.Pos(), slices.DeleteFunc(rulesOf(n.Name.Name), func(id string) bool { return !citedRule.MatchString(id) }))
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); f.test && n.Kind == token.STRING && err == nil {
				if id, rest, ok := strings.Cut(text, " "); ok && rest != "" {
					take(n.Pos(), citesIn(strings.TrimSuffix(id, ":")))
				}
			}
		}
		return true
	})
	return all
}

func citesIn(text string) (ids []string) {
	for {
		at := citedRule.FindStringSubmatchIndex(text)
		if at == nil {
			return ids
		}
		ids = append(ids, text[at[2]:at[3]]+text[at[4]:at[5]])
		text = text[at[5]:] // what ends one id may begin the next
	}
}

// said is the part of a line that people read: all of it in a document, only the comment in a script.
func said(name, line string) string {
	line = strings.TrimSpace(line)
	switch ext := path.Ext(name); {
	case ext == ".md":
		return line
	case ext == ".txtar" || path.Dir(name) == ruleScripts:
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			return comment
		}
	case strings.HasPrefix(line, "*") || strings.HasPrefix(line, "/*"):
		return line
	default:
		if _, comment, ok := strings.Cut(line, "//"); ok {
			return comment
		}
	}
	return ""
}
