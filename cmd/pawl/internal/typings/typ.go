package typings

import (
	"slices"
	"strings"
)

// says is how much a schema says of a value, as far as a type can.
type says int

const (
	something says = iota
	// nothing: every value fits.
	nothing
	// unclear: it says something that no type expresses.
	unclear
)

// typ is the text of a type.
type typ struct {
	text string
	says says
	// sign is what joins the text: "|" for a union, "&" for an intersection, otherwise nothing.
	sign string
}

// item is the text as the type of an item.
func (t typ) item() string { return t.within("") }

// within is the text as one of the parts that a sign joins.
func (t typ) within(sign string) string {
	if t.sign != "" && t.sign != sign {
		return "(" + t.text + ")"
	}
	return t.text
}

// joined is a union or an intersection of types.
func joined(all []typ, sign string) typ {
	var texts []string
	for _, t := range all {
		if text := t.within(sign); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 1 {
		return all[0]
	}
	text := strings.Join(texts, " "+sign+" ")
	if len(text) > width-20 && !strings.HasPrefix(text, "\n") {
		text = "\n  " + sign + " " + indented(strings.Join(texts, "\n"+sign+" "))
	}
	return typ{text: text, sign: sign}
}
