package amend_test

import (
	"testing"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/amend"
)

// TestEdits: each change is made at the place of a token, and at no other.
func TestEdits(t *testing.T) {
	t.Parallel()
	at := func(line, column int) sandbox.Place { return sandbox.Place{Line: line, Column: column} }
	for name, c := range map[string]struct {
		text string
		edit func(s *amend.Source) sandbox.Edit
		want string // empty where no edit is possible
	}{
		"a name": {"f(a.b)", func(s *amend.Source) sandbox.Edit { return s.Rename(at(1, 5), "b", "c") }, "f(a.c)"},
		"another name than expected": {"f(a.b)", func(s *amend.Source) sandbox.Edit {
			return s.Rename(at(1, 3), "b", "c")
		}, ""},
		"a short member": {"f({ a, b })", func(s *amend.Source) sandbox.Edit { return s.Rename(at(1, 8), "b", "c") },
			"f({ a, c: b })"},
		"a quoted member": {`f({ "b": 1 })`, func(s *amend.Source) sandbox.Edit { return s.Rename(at(1, 5), "b", "c") },
			`f({ "c": 1 })`},
		"behind letters of two units": {`f("𝒳", a.b)`, func(s *amend.Source) sandbox.Edit {
			return s.Rename(at(1, 11), "b", "c")
		}, `f("𝒳", a.c)`},
		"a way": {"r?.items", func(s *amend.Source) sandbox.Edit { return s.Path(at(1, 4), "items", "body") },
			"r?.body.items"},
		"into a pattern": {"const { a: x = [1, 2], b } = r", func(s *amend.Source) sandbox.Edit {
			return s.Nest(at(1, 9), "a", "body")
		}, "const { body: { a: x = [1, 2] }, b } = r"},
		"a call's argument": {"x = JSON.stringify({ a: f(1, 2) });", func(s *amend.Source) sandbox.Edit {
			return s.Unwrap(at(1, 5), "JSON.stringify")
		}, "x = { a: f(1, 2) };"},
		"a call with two arguments": {"JSON.stringify(a, null)", func(s *amend.Source) sandbox.Edit {
			return s.Unwrap(at(1, 1), "JSON.stringify")
		}, ""},
		"a template and an expression": {"f(`a ${ { b: `}` } }`, /[/,]/ , 2)", func(s *amend.Source) sandbox.Edit {
			return s.Replace(at(1, 24), "x")
		}, "f(`a ${ { b: `}` } }`, x , 2)"},
		"a member of lines": {"f({\n  a: 1,\n})", func(s *amend.Source) sandbox.Edit { return s.Member(at(1, 3), "b: 2") },
			"f({\n  a: 1,\n  b: 2,\n})"},
		"a member of one line": {"f({ a: 1 })", func(s *amend.Source) sandbox.Edit { return s.Member(at(1, 3), "b: 2") },
			"f({ a: 1, b: 2 })"},
		"the only member": {"f({})", func(s *amend.Source) sandbox.Edit { return s.Member(at(1, 3), "b: 2") },
			"f({ b: 2 })"},
		"a member less": {"f({ a: 1, b: g(2, 3), c })", func(s *amend.Source) sandbox.Edit { return s.Drop(at(1, 11)) },
			"f({ a: 1, c })"},
		"the last member less": {"f({ a: 1, b: 2 })", func(s *amend.Source) sandbox.Edit { return s.Drop(at(1, 11)) },
			"f({ a: 1 })"},
		"a statement more": {"async next(ctx: C<{ a: 1 }>, { data }) {\n  // why\n  log(data);\n}",
			func(s *amend.Source) sandbox.Edit { return s.Begin(at(1, 1), "if (!data) return;") },
			"async next(ctx: C<{ a: 1 }>, { data }) {\n  if (!data) return;\n  // why\n  log(data);\n}"},
		"an arrow without a body": {"(ctx) => 1", func(s *amend.Source) sandbox.Edit { return s.Begin(at(1, 1), "x;") }, ""},
		"in a comment": {"// a\nb", func(s *amend.Source) sandbox.Edit {
			return s.Rename(at(1, 4), "a", "c")
		}, ""},
		"behind the text": {"a", func(s *amend.Source) sandbox.Edit { return s.Rename(at(9, 9), "a", "c") }, ""},
		"a fix in words": {`p({ schedule: "5m" })`, func(s *amend.Source) sandbox.Edit {
			return s.Literal(at(1, 5), "rename schedule to interval")
		}, `p({ interval: "5m" })`},
		"a member in words": {`p({ interval: 5 })`, func(s *amend.Source) sandbox.Edit {
			return s.Literal(at(1, 5), `write interval: "5m"`)
		}, `p({ interval: "5m" })`},
		"words that are no code": {`p({ interval: 5 })`, func(s *amend.Source) sandbox.Edit {
			return s.Literal(at(1, 5), `write interval: "5m", or cron: "0 9 * * *"`)
		}, ""},
	} {
		edit := c.edit(amend.Read(c.text))
		got, made := amend.Apply(c.text, []sandbox.Edit{edit})
		switch {
		case c.want == "" && edit != (sandbox.Edit{}):
			t.Errorf("%s: %+v", name, edit)
		case c.want != "" && (got != c.want || made != 1):
			t.Errorf("%s: %q, want %q (%+v)", name, got, c.want, edit)
		}
	}
}

// TestApply makes the first of two edits that touch the same text, and keeps what is outside of edits.
func TestApply(t *testing.T) {
	t.Parallel()
	got, made := amend.Apply("one two\nthree", []sandbox.Edit{
		{Line: 2, Column: 1, EndLine: 2, EndColumn: 6, Text: "3"},
		{Line: 1, Column: 1, EndLine: 1, EndColumn: 4, Text: "1"},
		{Line: 1, Column: 3, EndLine: 1, EndColumn: 7, Text: "?"},
		{Line: 7, Column: 1, EndLine: 7, EndColumn: 2, Text: "?"},
	})
	if got != "1 two\n3" || made != 2 {
		t.Errorf("%q, %d", got, made)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a /b/ `c ${d}` }", "rename a to b", 1, 1)
	f.Fuzz(func(t *testing.T, text, fix string, line, column int) {
		s, at := amend.Read(text), sandbox.Place{Line: line, Column: column}
		for _, e := range []sandbox.Edit{s.Replace(at, "x"), s.Drop(at), s.Begin(at, "x"), s.Member(at, "x"),
			s.Unwrap(at, "a"), s.Literal(at, fix), s.Rename(at, "a", "b")} {
			amend.Apply(text, []sandbox.Edit{e})
		}
	})
}
