package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// oneEach stands for a workflow for each item in flight.
const oneEach = "*"

// World is the other process of a measurement.
type World struct{}

// Run receives what workflows send, and pushes items in as the lines of its standard input say.
func (*World) Run(ctx context.Context, screen term.Screen) error {
	s := &sink{keys: map[string]int{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return exit.Failed("", fmt.Errorf("listen for what workflows send: %w", err))
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	fmt.Fprintln(screen.Out, listener.Addr())
	p := &pushers{stdout: screen.Out, sink: s, follower: &follower{}, pace: rate.NewLimiter(rate.Inf, 1)}
	lines := bufio.NewScanner(screen.In)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "done":
			i, err := strconv.Atoi(rest)
			if err == nil && i < len(p.finished) {
				p.finished[i] <- struct{}{}
			}
		case "follow":
			if err := p.follower.follow(ctx, rest); err != nil {
				return exit.Failed("", err)
			}
			fmt.Fprintln(screen.Out, "follows")
		case "pace":
			perSecond, err := strconv.ParseFloat(rest, 64)
			if err != nil {
				return exit.Failed("", fmt.Errorf("read %q: %w", rest, err))
			}
			p.pace.SetLimit(rate.Limit(perSecond))
		case "run":
			var url, token, workflow string
			var n, ms int
			if _, err := fmt.Sscanf(rest, "%s %s %d %d %s", &url, &token, &n, &ms, &workflow); err != nil {
				return exit.Failed("", fmt.Errorf("read %q: %w", rest, err))
			}
			if workflow == oneEach {
				workflow = ""
			}
			p.start(ctx, url, token, workflow, n, time.Duration(ms)*time.Millisecond)
		}
	}
	return nil
}
