package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/cmd/pawl/internal/tools"
	"github.com/pawl-run/pawl/sandbox"
)

// awaits lists the operations that the script needs and no tool offers yet.
func (d deployer) awaits(ctx context.Context, s source.Script) []string {
	if d.in.Tools == nil || d.unchanged(s) {
		return nil
	}
	definition, _, err := d.in.Scripts.Describe(ctx, sandbox.Source{Filename: s.Name(), Code: string(s.Text)})
	if err != nil {
		return nil // the deploy reports what is wrong
	}
	missing := d.in.Tools.Missing(definition.Uses)
	if len(missing) == 0 {
		return nil
	}
	first, _, _ := strings.Cut(missing[0], ".")
	d.in.Tools.Look(ctx, first)
	return d.in.Tools.Missing(definition.Uses)
}

// await waits until tools offer what the script needs. An engine that is to end by itself waits only for a limited
// time; the deploy then reports what is missing.
func (d deployer) await(ctx context.Context, s source.Script, missing []string) error {
	d.in.Announce() // a person needs the address to ask why nothing moves
	most := ""
	if d.in.Data.Settings.UntilIdle {
		most = fmt.Sprintf(", for at most %s", tools.WaitTimeout)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, tools.WaitTimeout)
		defer cancel()
	}
	fmt.Fprintf(d.screen.Out, "pawl: %s waits for %s%s: start the tools that serve them\n", term.Path(s.Path),
		strings.Join(missing, ", "), most)
	err := d.in.Tools.Await(ctx, missing)
	if ctx.Err() == context.DeadlineExceeded && d.in.Data.Settings.UntilIdle {
		return nil
	}
	return err
}
