package term

import (
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// Said prints a line that a script has logged, with its workflow, its handler and the line of the script. It does not
// block.
func (p *Progress) Said(w eventlog.WorkflowName, of eventlog.Handler, line sandbox.LogLine) {
	mark := p.Style.Dim("›")
	switch line.Level {
	case "warn":
		mark = p.Style.Yellow("›")
	case "error":
		mark = p.Style.Red("›")
	}
	p.print(fmt.Sprintf("%s  %s %s%s: %s", p.Style.Dim(string(w)), mark, of, atLine(max(line.Line, 0)),
		OneLine(line.Text, maxSaid)))
}

// maxSaid bounds a line that a script has logged, in characters. All of it is kept with its run.
const maxSaid = 1000
