package rest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Completion prints a script that makes a shell ask pawl itself for completions, so that it need
// not be installed again when commands change.
type Completion struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"bash, zsh, fish or powershell."`
}

// completionWord is the hidden first argument with which shells ask for completions.
const completionWord = "__complete"

var completionScripts = map[string]string{
	"bash": `# pawl completion bash > /etc/bash_completion.d/pawl, or: source <(pawl completion bash)
_pawl() {
	local IFS=$'\n'
	COMPREPLY=($(pawl __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _pawl pawl
`,
	"zsh": `#compdef pawl
# pawl completion zsh > "${fpath[1]}/_pawl", or: source <(pawl completion zsh)
_pawl() {
	local -a found
	found=("${(@f)$(pawl __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "$found" ]]; then compadd -- $found; else _files; fi
}
compdef _pawl pawl
`,
	"fish": `# pawl completion fish > ~/.config/fish/completions/pawl.fish
complete -c pawl -a '(pawl __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
	"powershell": `# pawl completion powershell >> $PROFILE
Register-ArgumentCompleter -Native -CommandName pawl -ScriptBlock {
	param($wordToComplete, $commandAst, $cursorPosition)
	$words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
	# An empty argument is dropped by older PowerShells on its way to a program, so a space stands for it.
	if ($wordToComplete -eq '') { $words += ' ' }
	pawl __complete @words 2>$null | ForEach-Object {
		[System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
	}
}
`,
}

// Run prints the script.
func (c *Completion) Run(screen term.Screen) error {
	_, err := fmt.Fprint(screen.Out, completionScripts[c.Shell])
	return err
}

// CompletionRequest says whether a shell asks for completions, and after which words. The last word is the one that is
// being written, and is empty at its beginning.
func CompletionRequest(args []string) ([]string, bool) {
	if len(args) == 0 || args[0] != completionWord {
		return nil, false
	}
	return args[1:], true
}

// Complete prints what may stand at the end of the words: commands, flags once a dash is written, or the values of a
// flag; choices returns them, nil if the flag takes any value.
func Complete(root *kong.Node, words []string, choices func(*kong.Flag) []string, out io.Writer) {
	words, known := rejoined(words)
	partial := ""
	if len(words) > 0 {
		partial, words = strings.TrimSpace(words[len(words)-1]), words[:len(words)-1]
	}
	node := root
	for _, word := range words {
		if child := ChildOf(node, word); child != nil {
			node = child
		}
	}
	possible := candidates(node, strings.HasPrefix(partial, "-"))
	name, _, assigned := strings.Cut(partial, "=")
	switch {
	case assigned:
		possible = nil
		for _, value := range choicesOf(node, name, choices) {
			possible = append(possible, name+"="+value)
		}
	case len(words) > 0:
		if values := choicesOf(node, words[len(words)-1], choices); values != nil {
			possible = values
		}
	}
	for _, candidate := range possible {
		if rest, ok := strings.CutPrefix(candidate, partial); ok {
			fmt.Fprintln(out, partial[min(known, len(partial)):]+rest)
		}
	}
}

// rejoined joins the words that bash splits at each colon and equals sign. bash already has the first known bytes of
// the last word, and wants only the bytes behind them.
func rejoined(split []string) (words []string, known int) {
	glue := func(word string) bool { return word == ":" || word == "=" }
	for i, word := range split {
		if i > 0 && len(words) > 0 && (glue(word) || glue(split[i-1])) {
			last := &words[len(words)-1]
			if known = len(*last); glue(word) {
				known += len(word)
			}
			*last += word
			continue
		}
		words, known = append(words, word), 0
	}
	return words, known
}

// choicesOf are the values of the flag with this spelling; nil where it takes any.
func choicesOf(node *kong.Node, written string, choices func(*kong.Flag) []string) []string {
	for _, group := range node.AllFlags(true) {
		for _, flag := range group {
			if written == "--"+flag.Name {
				return choices(flag)
			}
		}
	}
	return nil
}

// ChildOf is the command of that name below a node, nil for none; hidden ones do not count.
func ChildOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name && !child.Hidden {
			return child
		}
	}
	return nil
}

func candidates(node *kong.Node, flags bool) []string {
	var names []string
	if flags {
		for _, group := range node.AllFlags(true) {
			for _, flag := range group {
				names = append(names, "--"+flag.Name)
			}
		}
	} else {
		for _, child := range node.Children {
			if !child.Hidden {
				names = append(names, child.Name)
			}
		}
		for _, argument := range node.Positional {
			names = append(names, argument.EnumSlice()...)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	slices.Sort(names)
	return slices.Compact(names)
}
