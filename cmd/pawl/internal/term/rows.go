package term

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Rows prints the rows of a list as they come. Its end is not known, so a column is as wide as the widest value that it
// has had. Without a terminal the fields of a row are separated by tabs.
type Rows struct {
	screen   Screen
	columns  []Column
	widths   []int
	terminal bool
}

// Rows begins a list. The last column is never cut: a long value is continued in the same column on the next lines.
func (s Screen) Rows(columns ...Column) *Rows {
	return &Rows{screen: s, columns: columns, widths: make([]int, len(columns)), terminal: IsTerminal(s.Out)}
}

// Print prints a row: a cell for each column, of any text. It fails when the output does.
func (r *Rows) Print(cells ...string) error {
	clean := make([]string, len(cells))
	for i, cell := range cells {
		clean[i] = OneLine(cell, maxWhole)
	}
	line := strings.Join(clean, "\t")
	if r.terminal {
		line = r.fit(clean, r.screen.width())
	}
	_, err := fmt.Fprintln(r.screen.Out, line)
	return err
}

// leastLast is the least width of the last column, in characters.
const leastLast = 26

// fit is the row in lines of at most width characters, as far as columns may be cut.
func (r *Rows) fit(cells []string, width int) string {
	last := len(cells) - 1
	for i, cell := range cells[:last] {
		r.widths[i] = max(r.widths[i], text.StringWidthWithoutEscSequences(cell))
	}
	widths := append([]int(nil), r.widths[:last]...)
	shown, _ := choose(r.columns[:last], widths, nil, max(width-leastLast, least))
	var line strings.Builder
	for _, i := range shown {
		line.WriteString(" " + text.Pad(cut(cells[i], widths[i]), widths[i], ' ') + " ")
	}
	line.WriteString(" ")
	margin := text.StringWidthWithoutEscSequences(line.String())
	told := text.WrapSoft(cells[last], max(width-margin, least))
	for n, part := range strings.Split(told, "\n") {
		if n > 0 {
			line.WriteString("\n" + strings.Repeat(" ", margin))
		}
		line.WriteString(strings.TrimRight(part, " "))
	}
	return line.String()
}
