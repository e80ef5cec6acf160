package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	// word is what may be an identifier in a text.
	word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	// camelWord is a word that has a capital inside. Ordinary words have none.
	camelWord = regexp.MustCompile(`^[A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*$`)
)

// comments checks what comments name: a comment that begins with an identifier begins with the declared one, and each
// word in camel case occurs in code, and each Go file with a folder is there. Words that come from elsewhere are in
// foreignWords.
func (t *tree) comments() (found []string) {
	known := t.words()
	for _, f := range t.files {
		if f.syntax == nil || ast.IsGenerated(f.syntax) {
			continue
		}
		for _, d := range documented(f.syntax) {
			if first := firstWord(d.doc); misnames(first, d.names) {
				found = append(found, fmt.Sprintf("%s: the comment begins with %s, but its declaration is %s",
					t.at(d.doc.Pos()), first, strings.Join(d.names, ", ")))
			}
		}
		for _, group := range f.syntax.Comments {
			for _, comment := range group.List {
				for _, name := range t.missingGo(comment.Text) {
					found = append(found, fmt.Sprintf("%s: the comment names %s, and there is no such file", t.at(comment.Pos()),
						name))
				}
				for _, w := range word.FindAllString(comment.Text, -1) {
					if camelWord.MatchString(w) && !known[w] {
						found = append(found, fmt.Sprintf("%s: the comment names %s, which is nowhere in the code",
							t.at(comment.Pos()), w))
					}
				}
			}
		}
	}
	return found
}

// words are all that code names: identifiers and imports, the words of texts in code, and those of scripts.
func (t *tree) words() map[string]bool {
	known := make(map[string]bool)
	add := func(text string) {
		for _, w := range word.FindAllString(text, -1) {
			known[w] = true
		}
	}
	for _, f := range t.files {
		if f.syntax == nil {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				known[n.Name] = true
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					add(n.Value)
				}
			}
			return true
		})
	}
	for name, text := range t.texts {
		if path.Ext(name) != ".md" {
			add(string(text))
		}
	}
	for _, w := range foreignWords {
		known[w] = true
	}
	return known
}

// declared is a declaration with its comment.
type declared struct {
	doc   *ast.CommentGroup
	names []string
}

// documented are the file's functions, types, variables, constants, fields and methods that have a comment. A comment
// over a group of declarations belongs to none of them.
func documented(f *ast.File) (all []declared) {
	add := func(doc *ast.CommentGroup, names ...*ast.Ident) {
		if doc == nil || len(names) == 0 {
			return
		}
		d := declared{doc: doc}
		for _, name := range names {
			d.names = append(d.names, name.Name)
		}
		all = append(all, d)
	}
	var group *ast.CommentGroup // that of a declaration outside of a group
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Doc, n.Name)
		case *ast.GenDecl:
			if group = nil; !n.Lparen.IsValid() {
				group = n.Doc
			}
		case *ast.TypeSpec:
			add(either(n.Doc, group), n.Name)
		case *ast.ValueSpec:
			add(either(n.Doc, group), n.Names...)
		case *ast.Field:
			add(n.Doc, n.Names...)
		}
		return true
	})
	return all
}

func either(doc, group *ast.CommentGroup) *ast.CommentGroup {
	if doc != nil {
		return doc
	}
	return group
}

// firstWord is the word that the comment begins with, empty where it begins with something else.
func firstWord(doc *ast.CommentGroup) string {
	text := doc.Text()
	at := word.FindStringIndex(text)
	if at == nil || at[0] != 0 {
		return ""
	}
	return text[:at[1]]
}

// misnames reports whether a comment that begins with the word names something else than the declaration that it
// belongs to. A word in small letters is an identifier, since sentences begin with a capital.
func misnames(first string, names []string) bool {
	if first == "" || slices.Contains(names, first) {
		return false
	}
	identifier := unicode.IsLower(rune(first[0])) || camelWord.MatchString(first) && !slices.Contains(foreignWords, first)
	return identifier || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, first) })
}

// foreignWords are words in camel case that are no identifiers here: names of products and standards, what other
// programs name, and names in examples.
var foreignWords = []string{"GitHub", "JavaScript", "JetStream", "OpenAPI", "PostgreSQL", "TypeScript",
	"RequestValidatorTest", "TextUnmarshaler", "generateTestHeaderString", "verifySlackRequest",
	"fileCount", "fileName"}
