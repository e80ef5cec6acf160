package act

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// confirm asks on standard error, and fails unless the answer on standard input is yes.
func confirm(screen term.Screen, question string) error {
	fmt.Fprintf(screen.Err, "%s [y/N] ", question)
	line, err := bufio.NewReader(io.LimitReader(screen.In, 1<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return exit.Failed("", fmt.Errorf("read your answer: %w", err))
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	case "":
		fmt.Fprintln(screen.Err)
	}
	return exit.Failed("to go ahead without being asked: --yes", errors.New("nothing was changed"))
}
