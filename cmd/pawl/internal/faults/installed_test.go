//go:build unix

package faults

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// installed is a node as it is installed: the program, with a configuration file and a data directory.
type installed struct {
	t                  *testing.T
	name, dir          string
	listen, http, sink string
	routes             []string
	program            string
	cmd                *exec.Cmd
	ended              chan struct{}
	output             *os.File
}

// start starts the node with the program.
func (n *installed) start(program string) {
	n.t.Helper()
	text := fmt.Sprintf("cluster: pawl\nnode: %s\ncluster-listen: %s\nroutes: %s\nhttp: %s\n"+
		"connectors:\n  http:\n    hosts:\n      \"%s\": {private: true, quiet: 1s, reconcile: "+
		"{get: \"/seen?key={idempotencyKey}\", applied: {status: 200}, failed: {status: 404}}}\n",
		n.name, n.listen, strings.Join(n.routes, ","), n.http, n.sink)
	config := n.dir + ".yaml"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
	n.program = program
	n.cmd = exec.Command(program, "serve", "--data", n.dir, "--config", config)
	n.cmd.Stdout, n.cmd.Stderr = n.output, n.output
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	cmd, ended := n.cmd, make(chan struct{})
	n.ended = ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
}

// stop ends the node as it should.
func (n *installed) stop() {
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	<-n.ended
}

// run runs a command on the machine of the node, and returns what it prints.
func (n *installed) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(n.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.program, append(args, "--data", n.dir)...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// push pushes an order, and says whether that was acknowledged.
func (n *installed) push(ctx context.Context, w int, id string) bool {
	token, err := os.ReadFile(filepath.Join(n.dir, "http.token"))
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	address := fmt.Sprintf("http://%s/v1/workflows/%s/topics/in/events", n.http, workflow(w))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address,
		strings.NewReader(fmt.Sprintf(`[{"messageId":%q,"title":%q,"payload":{}}]`, id, id)))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode/100 == 2
}
