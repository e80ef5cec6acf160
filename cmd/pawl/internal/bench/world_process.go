package bench

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// otherProcess receives what workflows send and pushes items in. It reads lines from its standard input and answers on
// its standard output.
type otherProcess struct {
	cmd   *exec.Cmd
	sink  string
	in    io.WriteCloser
	out   *bufio.Reader
	lines chan string
	done  chan struct{}
}

func startWorld(ctx context.Context) (*otherProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	w := &otherProcess{
		cmd: exec.CommandContext(ctx, self, "bench-world"), lines: make(chan string, 4096), done: make(chan struct{}),
	}
	w.cmd.Stderr = os.Stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("connect to the other process: %w", err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to the other process: %w", err)
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the other process: %w", err)
	}
	w.out = bufio.NewReader(out)
	go w.write()
	if w.sink, err = w.answer(); err != nil {
		return nil, err
	}
	return w, nil
}

// write sends lines, as many as are waiting with one write.
func (w *otherProcess) write() {
	defer close(w.done)
	out := bufio.NewWriter(w.in)
	for line := range w.lines {
		_, _ = out.WriteString(line)
		for more := true; more; {
			select {
			case line, open := <-w.lines:
				_, _ = out.WriteString(line)
				more = open
			default:
				more = false
			}
		}
		if out.Flush() != nil {
			return
		}
	}
}

func (w *otherProcess) answer() (string, error) {
	line, err := w.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("hear from the other process: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// observe tells the other process that an item is finished.
func (w *otherProcess) observe(r eventlog.Record) {
	for _, f := range r.Facts {
		if consumed, ok := f.(*eventlog.EventConsumed); ok {
			select {
			case w.lines <- "done " + pusherOf(string(consumed.MessageID)) + "\n":
			case <-w.done:
			}
		}
	}
}

// pace bounds how many items are pushed in a second.
func (w *otherProcess) pace(perSecond float64) { w.lines <- fmt.Sprintf("pace %g\n", perSecond) }

// follow makes the other process follow the feed at the URL.
func (w *otherProcess) follow(url string) error {
	w.lines <- "follow " + url + "\n"
	if answer, err := w.answer(); err != nil || answer != "follows" {
		return fmt.Errorf("the other process says %q: %w", answer, err)
	}
	return nil
}

// run makes the other process push items for a while, as the load says.
func (w *otherProcess) run(ctx context.Context, url, token string, l load, d time.Duration) (worldStage, error) {
	line := fmt.Sprintf("run %s %s %d %d %s\n", url, token, l.inFlight, d.Milliseconds(), cmp.Or(l.workflow, oneEach))
	select {
	case w.lines <- line:
	case <-ctx.Done():
		return worldStage{}, ctx.Err()
	}
	answer, err := w.answer()
	if err != nil {
		return worldStage{}, err
	}
	var result worldStage
	if err := json.Unmarshal([]byte(answer), &result); err != nil {
		return worldStage{}, fmt.Errorf("the other process says %q", answer)
	}
	return result, nil
}

// pid is the id of the other process, whose work is not measured.
func (w *otherProcess) pid() int { return w.cmd.Process.Pid }

func (w *otherProcess) stop() {
	close(w.lines)
	<-w.done
	_ = w.in.Close()
	_ = w.cmd.Wait()
}
