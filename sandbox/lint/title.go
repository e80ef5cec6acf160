package lint

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
)

// title warns where people will not see what the mutation is about.
func (c *collector) title(prepare ast.Expression, result *ast.ObjectLiteral, names []string, at map[string]file.Idx,
	whole bool, d *sandbox.ConsumerDefinition) {
	if !d.HasMutate || c.reservesNothing(result) {
		return
	}
	const fix = "add ui: { title: `Add row for ${event.payload.from}` }, in your words and with what identifies it"
	missing := func(at file.Idx) {
		if c.perhapsNoCall(prepare, result, d) {
			return
		}
		edit := sandbox.Edit{}
		if id := c.reservedID(result); id != "" {
			edit = c.Amend().Member(c.in.Position(result.LeftBrace), "ui: { title: `"+d.Name+" ${"+id+"}` }")
			if ui := at; ui != result.LeftBrace {
				edit = sandbox.Edit{}
			}
		}
		c.With(edit).Warn("ui.title", at, fix, "prepare of %q gives no ui.title, so people are not told what its "+
			"mutation is about", d.Name)
	}
	_, ui := c.in.Member(result, "ui")
	if ui == nil {
		if whole && !slices.Contains(names, "title") {
			missing(result.LeftBrace)
		}
		return
	}
	o, ok := c.in.Resolve(ui).(*ast.ObjectLiteral)
	if !ok || !c.in.Fixed(ui) {
		if c.in.Never(ui, "object") != "" {
			missing(at["ui"])
		}
		return
	}
	_, places, closed := script.Keys(o)
	_, title := c.in.Member(o, "title")
	text, constant := c.in.TextOf(title)
	switch {
	case title == nil && closed, constant && strings.TrimSpace(text) == "":
		missing(at["ui"])
	case constant && !identifies(text):
		edit := sandbox.Edit{}
		if id := c.reservedID(result); id != "" {
			edit = c.Amend().Replace(c.place(title), "`"+text+" ${"+id+"}`")
		}
		c.With(edit).Warn("title.constant", places["title"], "name what it is about: title: `"+sandbox.Clip(text, 60)+
			" ${…}` with an address, a number or a name out of the data",
			"every mutation of %q gets the same title %q, so people cannot tell them apart", d.Name,
			sandbox.Clip(text, 100))
	}
}

// perhapsNoCall reports a result without a title that may be one for which no call is made: mutate does not always make
// one, and another result of prepare has a title, or may have one.
func (c *collector) perhapsNoCall(prepare ast.Expression, result *ast.ObjectLiteral,
	d *sandbox.ConsumerDefinition) bool {
	_, value := c.in.Find("consumers", d.Name, string(sandbox.Mutate))
	mutate := c.in.Resolve(value)
	if !isFunction(mutate) || slices.ContainsFunc(c.madeBy(mutate, 0, 0), func(m madeCall) bool { return m.certain }) {
		return false
	}
	return slices.ContainsFunc(c.in.Returns(prepare), func(r script.Return) bool {
		other, ok := c.in.Resolve(r.Value).(*ast.ObjectLiteral)
		if !ok || other == result || c.reservesNothing(other) {
			return false
		}
		_, _, whole := script.Keys(other)
		_, ui := c.in.Member(other, "ui")
		return ui != nil && c.in.Never(ui, "object") == "" || ui == nil && !whole
	})
}

// reservedID is how the id of the only event that a result reserves is written, empty where there are others.
func (c *collector) reservedID(result *ast.ObjectLiteral) string {
	_, list := c.in.Member(result, "reservations")
	array, _ := c.in.Resolve(list).(*ast.ArrayLiteral)
	if array == nil || len(array.Value) != 1 {
		return ""
	}
	o, _ := c.in.Resolve(array.Value[0]).(*ast.ObjectLiteral)
	if o == nil {
		return ""
	}
	_, ids := c.in.Member(o, "ids")
	if one, ok := c.in.Resolve(ids).(*ast.ArrayLiteral); ok && len(one.Value) == 1 && c.isMessageID(one.Value[0]) {
		return c.in.Source(one.Value[0])
	}
	return ""
}

// identifies tells a title that names something by a number, an address, a path or a channel.
func identifies(title string) bool {
	return strings.ContainsAny(title, "0123456789@#/_") || strings.Contains(strings.TrimRight(title, "."), ".")
}
