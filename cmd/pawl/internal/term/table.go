package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Column is one column of a list: the place of its value in the JSON, and what becomes of the value where it has too
// little room.
type Column struct {
	Title string
	Field string // path with dots
	// Instead is the field that is shown where Field has nothing.
	Instead string
	// Width bounds its width on a terminal, in characters; 0 for no bound.
	Width int
	// Spare says how dispensable the column is on a terminal that is too narrow: the columns with the highest number
	// are cut first, and left out first. A column with 0 is never cut.
	Spare int
	// Uncut columns are never shortened, since half of a time means nothing. They are left out where there is too
	// little room.
	Uncut bool
	// Whole columns are never cut: where the line has too little room for one, it is on lines of its own below.
	Whole bool
	// Show renders the value; nil shows it as it is.
	Show func(any) string
}

// Page is a page of any list.
type Page struct {
	Items []map[string]any `json:"items"`
	Next  *string          `json:"next"`
}

// UnmarshalJSON keeps each number as it is written: JSON from outside may have some that are too large for a float64.
func (p *Page) UnmarshalJSON(document []byte) error {
	type page Page // without this method
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	return decoder.Decode((*page)(p))
}

// Table prints the items oldest first, so that the newest is at the bottom, next to the prompt, within the terminal's
// width. Without a terminal there are no frames: fields are separated by tabs, for cut and awk, and a list without
// items is no line at all. The text nothing is printed where there are no items, without a terminal to standard error.
func (s Screen) Table(p Page, columns []Column, nothing string) {
	slices.Reverse(p.Items)
	rows := make([][]string, len(p.Items))
	for i, item := range p.Items {
		for _, c := range columns {
			rows[i] = append(rows[i], c.cell(item))
		}
	}
	terminal := IsTerminal(s.Out)
	switch {
	case len(rows) == 0 && terminal && nothing == "":
		fmt.Fprintln(s.Out, "none")
	case len(rows) == 0 && terminal:
		fmt.Fprintln(s.Out, nothing)
	case len(rows) == 0 && nothing != "":
		fmt.Fprintln(s.Err, nothing)
	case len(rows) > 0 && terminal:
		fit(s.Out, s.Style(s.Out), s.width(), columns, rows)
	default:
		for _, cells := range rows {
			fmt.Fprintln(s.Out, strings.Join(cells, "\t"))
		}
	}
	if p.Next != nil {
		fmt.Fprintf(s.Err, "there are older ones: --after %s, or --limit N\n", OneLine(*p.Next, maxCursor))
	}
}

const (
	maxCell  = 400
	maxWhole = 4000
	// maxCursor is beyond the longest cursor of a list.
	maxCursor = 4000
)

func (c Column) cell(item map[string]any) string {
	value := At(item, c.Field)
	if value == nil && c.Instead != "" {
		value = At(item, c.Instead)
	}
	most := maxCell
	if c.Whole {
		most = maxWhole
	}
	if c.Show != nil {
		return OneLine(c.Show(value), most)
	}
	return OneLine(Plain(value), most)
}

// The widths of the parts of a line beside its texts, and the least width of a cut column.
const (
	padding = 2 // left and right of a cell
	indent  = "    "
	least   = 8 // what is left of a column that is cut
)

// fit prints a table whose lines are at most width characters long, as far as columns may be cut.
func fit(out io.Writer, style Style, width int, columns []Column, rows [][]string) {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = text.StringWidthWithoutEscSequences(c.Title)
		for _, cells := range rows {
			widths[i] = max(widths[i], text.StringWidthWithoutEscSequences(cells[i]))
		}
		if c.Width > 0 && !c.Whole {
			widths[i] = min(widths[i], c.Width)
		}
	}
	shown, below := choose(columns, widths, empty(rows), width)
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	header, configs := table.Row{}, []table.ColumnConfig{}
	for n, i := range shown {
		header = append(header, style.Dim(text.Snip(columns[i].Title, widths[i], "…")))
		configs = append(configs, table.ColumnConfig{Number: n + 1, WidthMax: widths[i], WidthMaxEnforcer: cut})
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(configs)
	for _, cells := range rows {
		row := table.Row{}
		for _, i := range shown {
			row = append(row, cells[i])
		}
		t.AppendRow(row)
	}
	lines := strings.Split(t.Render(), "\n")
	titles := len(lines) - len(rows)
	for n, line := range lines {
		fmt.Fprintln(out, strings.TrimRight(line, " "))
		if n < titles {
			continue
		}
		for _, i := range below {
			if value := rows[n-titles][i]; value != None {
				wrapped := text.WrapSoft(value, max(width-len(indent), least))
				for part := range strings.SplitSeq(wrapped, "\n") {
					fmt.Fprintln(out, indent+strings.TrimRight(part, " "))
				}
			}
		}
	}
}

// cut is the text in at most so many characters, with a sign that something is missing.
func cut(value string, most int) string { return text.Snip(value, most, "…") }

// empty says which columns have a value in no row.
func empty(rows [][]string) map[int]bool {
	all := map[int]bool{}
	for i := range rows[0] {
		all[i] = !slices.ContainsFunc(rows, func(cells []string) bool { return cells[i] != None })
	}
	return all
}

// choose decides which columns a line has, and reduces widths to what the columns get. Where not everything fits, empty
// columns are left out and whole ones move below the line. Then the most dispensable columns are cut, and then left
// out.
func choose(columns []Column, widths []int, empty map[int]bool, width int) (shown, below []int) {
	for i := range columns {
		shown = append(shown, i)
	}
	wide := func() (n int) {
		for _, i := range shown {
			n += widths[i] + padding
		}
		return n
	}
	if wide() > width {
		shown = slices.DeleteFunc(shown, func(i int) bool { return empty[i] })
		shown = slices.DeleteFunc(shown, func(i int) bool {
			if columns[i].Whole {
				below = append(below, i)
			}
			return columns[i].Whole
		})
	}
	bySpare := slices.Clone(shown)
	slices.SortStableFunc(bySpare, func(a, b int) int { return columns[b].Spare - columns[a].Spare })
	bySpare = slices.DeleteFunc(bySpare, func(i int) bool { return columns[i].Spare == 0 })
	natural := slices.Clone(widths)
	for {
		for _, i := range bySpare {
			if !columns[i].Uncut {
				widths[i] = max(min(natural[i], least), natural[i]-max(wide()-width, 0))
			}
		}
		if wide() <= width || len(bySpare) == 0 {
			return shown, below
		}
		gone := bySpare[0]
		bySpare = bySpare[1:]
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == gone })
		copy(widths, natural)
	}
}
