package mcpcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/engine/connector"
)

// startTimeout bounds the start of a process until its tools are known.
const startTimeout = 20 * time.Second

// pingTimeout is how long a server that has not answered a call may take to answer a ping before it counts as hung.
const pingTimeout = 5 * time.Second

// endTimeout is how long a process may take to end by itself.
const endTimeout = 2 * time.Second

// server is the process, which is started when it is needed, and again after it has ended.
type server struct {
	config Config
	logger *slog.Logger
	// pingTimeout is how long a server may take to answer a ping.
	pingTimeout time.Duration

	// starting is held while a process is started: other calls wait for that, but the lists of tools can be read.
	starting sync.Mutex

	mu      sync.Mutex
	session *mcp.ClientSession
	process *exec.Cmd // nil for a server at a URL
	closed  bool
	// own is the folder of the process, if the configuration names none.
	own string
	// operations are those of the last look; tools are the server's names of them.
	operations []connector.Operation
	tools      map[string]string
}

// connected returns the session with a process that runs.
func (s *server) connected(ctx context.Context) (*mcp.ClientSession, error) {
	s.starting.Lock()
	defer s.starting.Unlock()
	s.mu.Lock()
	session, closed := s.session, s.closed
	s.mu.Unlock()
	if closed {
		return nil, errors.New("the connector is closed")
	}
	if session != nil {
		return session, nil
	}
	transport, cmd, err := s.transport()
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "pawl", Version: "1"}, &mcp.ClientOptions{
		// A call that wants more input would be sent again with it.
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		Capabilities:   &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(ctx context.Context, r *mcp.ToolListChangedRequest) {
			if err := s.look(ctx, r.Session); err != nil {
				s.logger.Warn("the tools of an MCP server have changed and cannot be listed", "connector", s.config.Name,
					"error", err)
			}
		},
	})
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	session, err = client.Connect(ctx, transport, nil)
	if err != nil {
		endGroup(cmd)
		return nil, fmt.Errorf("start %s: %w", s.config.where(), err)
	}
	if err := s.look(ctx, session); err != nil {
		endGroup(cmd)
		return nil, errors.Join(fmt.Errorf("list the tools of %s: %w", s.config.where(), err), session.Close())
	}
	s.mu.Lock()
	s.session, s.process = session, cmd
	s.mu.Unlock()
	go func() {
		_ = session.Wait() // the calls that were open say why it ended
		s.ended(session)
	}()
	return session, nil
}

// ask calls a tool. Where the process was found to have ended before anything of the request was written, another one
// is asked.
func (s *server) ask(ctx context.Context, request *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	f, flies := ctx.Value(flightKey{}).(*flight)
	for again := true; ; again = false {
		session, err := s.connected(ctx)
		if err != nil {
			return nil, err
		}
		answer, err := session.CallTool(ctx, request)
		if err != nil && ctx.Err() != nil {
			go s.endHung(session)
		}
		if !errors.Is(err, mcp.ErrConnectionClosed) || !again || flies && f.wrote.Load() {
			return answer, err
		}
		s.ended(session)
	}
}

// ended forgets a session that has ended.
func (s *server) ended(session *mcp.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == session {
		s.session = nil
	}
}

// endHung ends a session whose server answers nothing at all, and its process with all that it has started: the next
// call begins another one.
func (s *server) endHung(session *mcp.ClientSession) {
	ctx, cancel := context.WithTimeout(context.Background(), s.pingTimeout)
	defer cancel()
	if session.Ping(ctx, nil) == nil || ctx.Err() == nil {
		return // it is slow with that call alone, or has ended
	}
	s.mu.Lock()
	hung, process := s.session == session, s.process
	s.mu.Unlock()
	if !hung {
		return
	}
	s.logger.Warn("an MCP server answers nothing any more and is ended; the next call starts it again", "connector",
		s.config.Name)
	s.ended(session)
	endGroup(process)
	_ = session.Close() // a process that was killed says so
}

// transport is the way to the server, and its process, nil for one at a URL.
func (s *server) transport() (mcp.Transport, *exec.Cmd, error) {
	if s.config.URL != "" {
		return marked{&mcp.StreamableClientTransport{Endpoint: s.config.URL, HTTPClient: s.config.client()}}, nil, nil
	}
	cmd, err := s.command()
	if err != nil {
		return nil, nil, err
	}
	groupOfItsOwn(cmd)
	return gated{&mcp.CommandTransport{Command: cmd, TerminateDuration: endTimeout}}, cmd, nil
}

// command is the process, with what the configuration names and nothing else.
func (s *server) command() (*exec.Cmd, error) {
	config := s.config
	if config.Dir == "" {
		if s.own == "" {
			own, err := os.MkdirTemp("", "pawl-mcp-")
			if err != nil {
				return nil, fmt.Errorf("make a folder for %s: %w", config.Name, err)
			}
			s.own = own
		}
		config.Dir = s.own
		config.Write = append([]string{s.own}, config.Write...)
	}
	cmd := exec.Command(config.Command[0], config.Command[1:]...)
	if config.Confined != nil {
		var err error
		if cmd, err = config.Confined(config); err != nil {
			return nil, err
		}
	}
	cmd.Dir = config.Dir
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"), "HOME="+config.Dir, "TMPDIR="+config.Dir)
	for name, value := range config.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd, nil
}

// letters are what the name of an operation may not hold.
var letters = regexp.MustCompile(`[^A-Za-z0-9_]`)

// look lists the server's tools. A tool that cannot be an operation is left out, and the log says why.
func (s *server) look(ctx context.Context, session *mcp.ClientSession) error {
	var operations []connector.Operation
	tools := map[string]string{}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		op, err := s.operation(tool)
		if err == nil && tools[op.Name] != "" {
			err = fmt.Errorf("%s is called like it", tools[op.Name])
		}
		if err != nil {
			s.logger.Warn("a tool of an MCP server is not offered", "connector", s.config.Name, "tool", tool.Name,
				"error", err)
			continue
		}
		tools[op.Name] = tool.Name
		operations = append(operations, op)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.operations, s.tools = operations, tools
	return nil
}

// operation is what a tool is to scripts.
func (s *server) operation(tool *mcp.Tool) (op connector.Operation, err error) {
	settings := s.config.Tools[tool.Name]
	op = connector.Operation{Name: letters.ReplaceAllString(tool.Name, "_"), Kind: connector.Mutate,
		Timeout: s.config.Timeout, Reconciles: settings.Verify != nil}
	op.Summary, _, _ = strings.Cut(strings.TrimSpace(tool.Description), "\n")
	switch {
	case settings.Kind != "":
		op.Kind = settings.Kind
	case tool.Annotations != nil && tool.Annotations.ReadOnlyHint:
		op.Kind = connector.List
	}
	if op.Kind != connector.Mutate && op.Reconciles {
		return op, errors.New("it is a read, and the configuration says how to verify it")
	}
	if op.Schema, err = schemaOf(tool.InputSchema); err != nil {
		return op, fmt.Errorf("its parameters: %w", err)
	}
	if op.Result, err = schemaOf(tool.OutputSchema); err != nil {
		op.Result = nil // it is for editors alone
	}
	return op, nil
}

func schemaOf(schema any) (json.RawMessage, error) {
	if schema == nil {
		return nil, nil
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	_, err = connector.CompileSchema(raw)
	return raw, err
}

// close ends the process.
func (s *server) close() error {
	s.starting.Lock()
	defer s.starting.Unlock()
	s.mu.Lock()
	session, process, own := s.session, s.process, s.own
	s.session, s.closed = nil, true
	s.mu.Unlock()
	if session != nil {
		_ = session.Close() // a process that had to be told to end, or has ended, says so
		endGroup(process)   // what it has started goes with it
	}
	if own == "" {
		return nil
	}
	return os.RemoveAll(own)
}
