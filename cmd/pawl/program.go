package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/commands/look"
	"github.com/pawl-run/pawl/cmd/pawl/internal/commands/rest"
	"github.com/pawl-run/pawl/cmd/pawl/internal/commands/run"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// program is pawl with the settings that a test changes; the zero value is the real program.
type program struct {
	// http is the address of an engine for which none is configured. A test sets it, since another engine may run on
	// the same machine.
	http string
	with storage.Parts
}

// run executes one command line and returns the exit code.
func (p program) run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer,
	env func(string) (string, bool)) int {
	out := term.NewOutput(stdout)
	screen := term.Screen{In: stdin, Out: out, Err: stderr, Env: env}
	return end(ctx, screen, p.execute(ctx, screen, args), out)
}

// end complains about err, or else about output that was lost, and returns the exit code.
func end(ctx context.Context, screen term.Screen, err error, out *term.Output) int {
	var quiet exit.Silent
	switch {
	case err == nil && out.Lost == nil:
		return exit.CodeDone
	case out.Lost == nil, err != nil && !errors.As(err, &quiet) && !errors.Is(err, out.Lost):
		return exit.Complain(ctx, screen.Err, err)
	case errors.Is(out.Lost, syscall.EPIPE):
		return exit.CodeFailed // the reader of the output has closed it on purpose, so there is no complaint
	}
	return exit.Complain(ctx, screen.Err,
		exit.Failed("what was asked for may have been done all the same; look before you repeat a command that changes "+
			"something", out.Lost))
}

// helped ends a command line that asked for help only.
type helped struct{}

// processes are those that an engine starts of its own program and that live long. They run without the grammar: it
// would be a quarter of what lives in a worker's memory, and the collector would look through it again and again.
var processes = map[string]func() error{"worker": run.Worker, "parse-mail": run.ParseMail}

func (p program) execute(ctx context.Context, screen term.Screen, args []string) (err error) {
	if len(args) == 1 && processes[args[0]] != nil {
		return processes[args[0]]()
	}
	var line commandLine
	grammar, err := newGrammar(&line, screen)
	if err != nil {
		return err
	}
	if words, ok := rest.CompletionRequest(args); ok {
		rest.Complete(grammar.Model.Node, words, look.ChoicesOf, screen.Out)
		return nil
	}
	// Kong prints help while it parses and expects Exit to end the program.
	defer func() {
		switch panicked := recover().(type) {
		case nil:
		case helped:
			err = nil
		default:
			panic(panicked)
		}
	}()
	args = asAskedElsewhere(args)
	parsed, err := grammar.Parse(commandFirst(grammar.Model.Node, args))
	if out, ok := screen.Out.(*term.Output); ok && out.Lost != nil {
		return out.Lost // the help was printed, unless output was lost
	}
	if err != nil {
		return usage(err, args)
	}
	conf := config.Reader{Flags: line.Common, Env: screen.Env, HTTP: p.http}
	engine := &client.Finder{Ctx: ctx, Screen: screen, Conf: conf}
	defer engine.Close()
	parsed.BindTo(ctx, (*context.Context)(nil))
	return parsed.Run(screen, conf, engine, p.with)
}

func newGrammar(line *commandLine, screen term.Screen) (*kong.Kong, error) {
	return kong.New(line,
		kong.Name("pawl"),
		kong.Description("Durable automations: each unit of work is prepare, mutate, next; "+
			"a side effect is sent at most once.\n\n"+
			"Start with `pawl up`: it runs a bundled example in this folder."),
		kong.Writers(screen.Out, screen.Err),
		kong.Exit(func(int) { panic(helped{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ValueFormatter(config.DescribeFlag),
		kong.Resolvers(config.Environment{Lookup: screen.Env}),
		look.Choices(),
		kong.ExplicitGroups(groups),
	)
}

// commandFirst moves flags of a command that are before it to behind it, where the parser understands them.
func commandFirst(root *kong.Node, args []string) []string {
	anywhere, ofCommands := map[string]*kong.Flag{}, map[string]*kong.Flag{}
	for _, flag := range root.Flags {
		anywhere[flag.Name] = flag
	}
	for _, command := range root.Leaves(false) {
		for _, flag := range command.Flags {
			ofCommands[flag.Name] = flag
		}
	}
	var before, moved []string
	words := args
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		name, _, valued := strings.Cut(words[0][2:], "=")
		flag, to := anywhere[name], &before
		if flag == nil {
			flag, to = ofCommands[name], &moved
		}
		if flag == nil {
			return args // the parser says what is wrong
		}
		taken := 1
		if !valued && !flag.IsBool() {
			taken = min(2, len(words))
		}
		*to, words = append(*to, words[:taken]...), words[taken:]
	}
	node := root
	for len(words) > 0 {
		child := rest.ChildOf(node, words[0])
		if child == nil {
			break
		}
		node, before, words = child, append(before, words[0]), words[1:]
	}
	if node == root {
		return args
	}
	return slices.Concat(before, moved, words)
}

// usage turns a mistake on the command line into an error that says how the command is used.
func usage(err error, args []string) error {
	var parse *kong.ParseError
	what, hint := err.Error(), "pawl --help lists the commands"
	if errors.As(err, &parse) && parse.Context != nil {
		if cmd := parse.Context.Selected(); cmd != nil {
			hint = "usage: pawl " + cmd.Summary() + "; more: pawl " + cmd.Path() + " --help"
		} else if other, known := commandsElsewhere[args[0]]; known {
			what, hint = "there is no command "+args[0], other
		}
	}
	return &exit.Failure{Code: exit.CodeUsage, What: what, Hint: hint}
}

// untilInterrupted returns a context that the first interrupt ends. The second ends the process: a person who asks
// twice does not want to wait, and the log survives a crash. The signal that the terminal is gone only ever counts as a
// first interrupt, however often it comes.
func untilInterrupted(parent context.Context) context.Context {
	ctx, cancel := context.WithCancel(parent)
	wanted := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as it is under nohup
		wanted = append(wanted, syscall.SIGHUP)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, wanted...)
	go func() {
		for s := range signals {
			if ctx.Err() != nil && s != syscall.SIGHUP {
				os.Exit(exit.CodeFailed)
			}
			cancel()
		}
	}()
	return ctx
}
