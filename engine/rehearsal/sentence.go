package rehearsal

import (
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// sentence is how a step is written in the YAML form: its name with its first argument, and the keys beside it.
type sentence struct {
	// alone steps have no first argument, optional ones may have one.
	alone, optional bool
	// second is the key of the second argument; spread makes each item of its list an argument.
	second string
	spread bool
	// members are the keys that together are the second argument.
	members []string
}

// sentences are all steps.
var sentences = map[string]sentence{
	"clock":  {},
	"state":  {second: "value"},
	"grants": {},

	"answer":   {members: []string{"with", "result", "fails", "lost", "times"}},
	"fail":     {second: "fails"},
	"recorded": {second: "case"},

	"push": {second: "events"},
	"hook": {members: []string{"method", "query", "headers", "contentType", "body", "unsigned", "refused",
		"answers"}},
	"poll":    {alone: true},
	"run":     {optional: true},
	"advance": {},
	"crash":   {optional: true},
	"approve": {alone: true},
	"reject":  {alone: true},
	"resolve": {second: "result"},
	"resume":  {alone: true},
	"skip":    {second: "ids", spread: true},
	"redrive": {second: "ids", spread: true},

	"expectCall":    {second: "params"},
	"expectNoCalls": {alone: true},
	"expectEvents":  {second: "events"},
	"expectState":   {second: "value"},
	"expectWaiting": {members: []string{"code", "message", "line"}},
	"expectLog":     {},
}

// keys are those that may stand beside the step.
func (s sentence) keys() []string {
	if s.second != "" {
		return []string{s.second}
	}
	return s.members
}

// callOf writes one step as a call of the builder.
func callOf(step ast.Node) (string, error) {
	if word, ok := step.(*ast.StringNode); ok {
		how, known := sentences[word.Value]
		switch {
		case !known:
			return "", unknownStep(step, word.Value)
		case !how.alone && !how.optional:
			return "", faultAt(step, "%s says of what: write %s: and its value", word.Value, word.Value)
		}
		return word.Value + "()", nil
	}
	mapping, ok := step.(ast.MapNode)
	if !ok {
		return "", faultAt(step, "a step is a name such as run, or a key with a value such as push: TOPIC")
	}
	verb, how, other := "", sentence{}, ""
	for entry := mapping.MapRange(); entry.Next(); {
		name, err := nameOf(entry.Key())
		if err != nil {
			return "", err
		}
		known, ok := sentences[name]
		switch {
		case ok && verb != "":
			return "", faultAt(entry.Key(), "%s and %s are two steps: write a dash before each", verb, name)
		case ok:
			verb, how = name, known
		case other == "":
			other = name
		}
	}
	if verb == "" {
		return "", unknownStep(step, other)
	}
	members, err := mappingOf(step, "the step "+verb, append([]string{verb}, how.keys()...))
	if err != nil {
		return "", err
	}
	arguments, err := how.arguments(step, verb, members)
	if err != nil {
		return "", err
	}
	return verb + "(" + strings.Join(arguments, ", ") + ")", nil
}

// arguments are those of the call.
func (s sentence) arguments(step ast.Node, verb string, members map[string]ast.Node) ([]string, error) {
	_, empty := members[verb].(*ast.NullNode)
	switch {
	case s.alone && !empty:
		return nil, faultAt(step, "%s takes no value", verb)
	case s.alone, s.optional && empty:
		return nil, nil
	}
	first, err := argument(members[verb])
	if err != nil {
		return nil, err
	}
	arguments := []string{first}
	if list, ok := members[s.second].(*ast.SequenceNode); ok && s.spread {
		for _, item := range list.Values {
			value, err := argument(item)
			if err != nil {
				return nil, err
			}
			arguments = append(arguments, value)
		}
		return arguments, nil
	}
	if second := members[s.second]; second != nil {
		value, err := argument(second)
		if err != nil {
			return nil, err
		}
		return append(arguments, value), nil
	}
	var parts []string
	for _, name := range s.members {
		if members[name] == nil {
			continue
		}
		value, err := argument(members[name])
		if err != nil {
			return nil, err
		}
		parts = append(parts, name+": "+value)
	}
	if len(parts) > 0 || verb == string(DoAnswer) {
		arguments = append(arguments, "{ "+strings.Join(parts, ", ")+" }")
	}
	return arguments, nil
}

func unknownStep(at ast.Node, name string) error {
	return faultAt(at, "there is no step %s; there are %s", quoted(name),
		strings.Join(slices.Sorted(maps.Keys(sentences)), ", "))
}
