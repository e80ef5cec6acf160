package config

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Environment gives every flag its PAWL_ variable: --until-idle is PAWL_UNTIL_IDLE. An empty
// variable counts as not set.
type Environment struct {
	// Lookup looks a variable up.
	Lookup func(string) (string, bool)
}

// noVariable are flags that make no sense as a lasting setting.
var noVariable = map[string]bool{"help": true, "json": true, "yes": true}

// Validate checks nothing: kong requires the method.
func (Environment) Validate(*kong.Application) error { return nil }

// Resolve gives a flag the value of its variable, nil for none.
func (e Environment) Resolve(line *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !fromEnvironment(flag.Value) || given(line, instead[flag.Name]) {
		return nil, nil
	}
	if value, ok := e.Lookup(variable(flag.Name)); ok && value != "" {
		return value, nil
	}
	return nil, nil
}

// instead has the flags that take each other's place: one on the command line is stronger than a
// variable for the other.
var instead = map[string]string{"url": "nats", "nats": "url"}

// given says whether a flag of this name is on the command line.
func given(line *kong.Context, name string) bool {
	return slices.ContainsFunc(line.Path, func(p *kong.Path) bool {
		return p.Flag != nil && !p.Resolved && p.Flag.Name == name
	})
}

// fromEnvironment says whether the value is a flag that a variable can set. Those are the flags marked `setting`,
// which are also keys of the configuration file.
func fromEnvironment(v *kong.Value) bool {
	return v.Flag != nil && v.Tag.Has("setting") && !noVariable[v.Name]
}

func variable(flag string) string {
	return "PAWL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// DescribeFlag adds the variable to a flag's help.
func DescribeFlag(v *kong.Value) string {
	if !fromEnvironment(v) {
		return v.Help
	}
	return strings.TrimSuffix(v.Help, ".") + " ($" + variable(v.Name) + ")."
}
