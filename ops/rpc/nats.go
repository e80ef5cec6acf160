package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/pawl-run/pawl/eventlog"
)

// TokenHeader carries a token over NATS.
const TokenHeader = "Pawl-Token"

// StatusHeader carries an answer's HTTP status over NATS.
const StatusHeader = "Pawl-Status"

// NATSConfig configures the NATS interface. Conn is required.
type NATSConfig struct {
	// Conn is used for nothing else: the caller chooses the subject of the answer, and NATS does not check
	// it against what the caller may publish. Its own user should be allowed to publish to inboxes
	// only (_INBOX.>); requests that name another subject are not carried out.
	Conn *nats.Conn
	// Role is that of a request without a token, where this program knows which NATS users may send one. Empty refuses
	// such requests, as for NATS servers whose users this program does not know.
	Role Role
	// Prefix of the subjects; empty means "pawl".
	Prefix string
	// Concurrency bounds the requests that are answered at once; further ones wait in the
	// connection's buffer. 0 means 256.
	Concurrency int
}

// NATSBackend answers the requests of the NATS interface. Logger, Authenticate and Endpoints are required.
type NATSBackend struct {
	// Version and Installation are shown to callers that look for services.
	Version, Installation string
	Logger                *slog.Logger
	// Authenticate finds the caller of a token; nil for an unknown one.
	Authenticate func(token string) (*Caller, *Problem)
	Endpoints    []Endpoint
}

// Endpoint is one subject of the service.
type Endpoint struct {
	Name string
	// Subject comes after the prefix, and may have wildcards; empty means "api." and the Name.
	Subject string
	// Metadata is shown to callers that look for services.
	Metadata map[string]string
	Answer   func(context.Context, *NATSCall) (status int, body []byte, problem *Problem)
}

// NATSCall is one request.
type NATSCall struct {
	Caller Caller
	// Max is how many bytes the answer may have.
	Max int
	// Leave ends when the service stops: then the answer must not wait any longer.
	Leave context.Context
	// Subject is the request's, without the prefix.
	Subject string
	Data    []byte
	// Traceparent is the header of that name, as W3C Trace Context has it; empty for none.
	Traceparent string
	// After is the header AfterHeader: the positions of the log that the answer to a read must contain.
	After string
	// Head are the headers of the answer beside those that all answers have.
	Head nats.Header
}

// AfterHeader has the meaning of `after` over HTTP: it names the positions that a read waits for.
const AfterHeader = "Pawl-After"

// NATSService answers the operations as the NATS micro service `pawl`: a request to
// <prefix>.api.<operation id> holds one JSON object of path, query and body fields, and a request to
// <prefix>.in.<workflow>.<topic> holds one event or an array of events. A problem comes as
// Nats-Service-Error-Code with the problem document as body; an answer that is too large for the NATS server
// is a problem too. Several engines share the requests. There are no streams: the log comes in pages, and
// a follower asks again and again. Metrics for Prometheus are offered over HTTP alone.
type NATSService struct {
	backend NATSBackend
	service micro.Service
	conn    *nats.Conn
	prefix  string
	role    Role
	slots   chan struct{}
	open    sync.WaitGroup
	life    context.Context
	endLife context.CancelFunc
	// leave ends when the service stops: no request waits for the log any longer, and those still in the
	// queue are refused.
	leave    context.Context
	endLeave context.CancelFunc
	// entering is held when an answer begins, and by Stop, so that none begins after Stop has looked.
	entering sync.Mutex
}

// natsHead is room for the headers of an answer.
const natsHead = 1 << 10

// ServeNATS subscribes the service, whose requests end with the context. The service answers once this returns. It
// fails without a connection, or when the server refuses a subscription.
func ServeNATS(ctx context.Context, cfg NATSConfig, backend NATSBackend) (*NATSService, error) {
	if cfg.Conn == nil {
		return nil, errors.New("start NATS service: no connection")
	}
	if cfg.Prefix == "" {
		cfg.Prefix = "pawl"
	}
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = 256
	}
	n := &NATSService{backend: backend, conn: cfg.Conn, prefix: cfg.Prefix, role: cfg.Role,
		slots: make(chan struct{}, cfg.Concurrency)}
	n.life, n.endLife = context.WithCancel(ctx)
	n.leave, n.endLeave = context.WithCancel(n.life)
	var err error
	n.service, err = micro.AddService(cfg.Conn, micro.Config{
		Name: "pawl", Version: semver(backend.Version),
		Description: "Durable automations. The log comes in pages; metrics and streams are offered over HTTP alone.",
		Metadata:    map[string]string{"version": backend.Version, "installation": backend.Installation},
	})
	if err != nil {
		return nil, fmt.Errorf("start NATS service: %w", err)
	}
	if err := n.addEndpoints(); err != nil {
		return nil, errors.Join(fmt.Errorf("start NATS service: %w", err), n.Stop())
	}
	if err := cfg.Conn.Flush(); err != nil {
		return nil, errors.Join(fmt.Errorf("start NATS service: %w", err), n.Stop())
	}
	return n, nil
}

// Stop removes the subscriptions and waits for the answers under way. The error is that of a subscription that could
// not be removed.
func (n *NATSService) Stop() error {
	err := n.service.Stop() // this does not wait until the queues are empty
	n.entering.Lock()
	n.endLeave()
	n.entering.Unlock()
	n.open.Wait()
	n.endLife()
	if err != nil {
		return fmt.Errorf("stop NATS service: %w", err)
	}
	return nil
}

func (n *NATSService) addEndpoints() error {
	for _, e := range n.backend.Endpoints {
		subject := e.Subject
		if subject == "" {
			subject = "api." + e.Name
		}
		options := []micro.EndpointOpt{micro.WithEndpointSubject(n.prefix + "." + subject)}
		if e.Metadata != nil {
			options = append(options, micro.WithEndpointMetadata(e.Metadata))
		}
		if err := n.service.AddEndpoint(e.Name, n.handle(e), options...); err != nil {
			return fmt.Errorf("endpoint %s: %w", e.Name, err)
		}
	}
	return nil
}

// handle answers each request in a goroutine of its own: a subscription calls one at a time, and an
// answer waits for the log.
func (n *NATSService) handle(e Endpoint) micro.Handler {
	return micro.HandlerFunc(func(req micro.Request) {
		if !isInbox(req.Reply()) {
			n.backend.Logger.Warn("a request over NATS was not carried out: its answer would go to a subject that is no inbox",
				"subject", req.Subject(), "reply", eventlog.ClipName(req.Reply()))
			return
		}
		n.slots <- struct{}{}
		if !n.enter() {
			<-n.slots
			n.respond(req, 0, nil, Stopping(), nil)
			return
		}
		go func() {
			defer func() { n.open.Done(); <-n.slots }()
			n.answer(req, e)
		}()
	})
}

// enter counts an answer that begins. It reports false when the service stops.
func (n *NATSService) enter() bool {
	n.entering.Lock()
	defer n.entering.Unlock()
	if n.leave.Err() != nil {
		return false
	}
	n.open.Add(1)
	return true
}

func (n *NATSService) answer(req micro.Request, e Endpoint) {
	caller, p := n.caller(req.Headers())
	if p != nil {
		n.respond(req, 0, nil, p, nil)
		return
	}
	call := &NATSCall{
		Caller: *caller, Max: n.most(), Leave: n.leave, Subject: strings.TrimPrefix(req.Subject(), n.prefix+"."),
		Data: req.Data(), Traceparent: header(req.Headers(), "traceparent"), After: header(req.Headers(), AfterHeader),
		Head: nats.Header{},
	}
	status, body, p := e.Answer(n.life, call)
	n.respond(req, status, body, p, call.Head)
}

// header reads a header whatever the case of its name: clients differ in it.
func header(head micro.Headers, want string) string {
	for name, values := range head {
		if strings.EqualFold(name, want) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// isInbox reports whether an answer may go to the subject: an inbox, one that the server put in the place
// of an inbox of another account, or nowhere.
func isInbox(reply string) bool {
	first, _, _ := strings.Cut(reply, ".")
	return reply == "" || first == "_R_" || first == "_INBOX" || strings.HasPrefix(first, "_INBOX_")
}

func (n *NATSService) respond(req micro.Request, status int, body []byte, p *Problem, more nats.Header) {
	most := n.most()
	// The size is checked before the answer is sent: a request whose answer cannot be sent would never get one.
	if p == nil && len(body) > most {
		p = Problemf(http.StatusRequestEntityTooLarge, "answer.tooLarge",
			"the answer has %d bytes, more than this NATS server carries in one message; if it was to change something, "+
				"that is done", len(body)).
			WithHint("ask for less with limit, or ask over HTTP (pawl --url)")
	}
	reply := &nats.Msg{Subject: req.Reply(), Data: body, Header: nats.Header{StatusHeader: {strconv.Itoa(status)},
		"Content-Type": {"application/json"}}}
	if p != nil {
		document := p.Document()
		for len(document) > most && len(p.Problems) > 0 { // a script can have many problems: the first ones are enough
			p.Problems = p.Problems[:len(p.Problems)/2]
			document = p.Document()
		}
		reply.Data = document
		reply.Header = nats.Header{micro.ErrorHeader: {p.Title}, micro.ErrorCodeHeader: {strconv.Itoa(p.Status)},
			"Content-Type": {ProblemType}}
	}
	maps.Copy(reply.Header, more)
	// The answer is not sent by the methods of the request: these write fields that are read without a lock once its
	// handler has returned, and this runs longer than the handler.
	err := nats.ErrMsgNoReply
	if reply.Subject != "" {
		err = n.conn.PublishMsg(reply)
	}
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		n.backend.Logger.Warn("an answer over NATS could not be sent", "subject", req.Subject(), "error", err)
	}
}

var semverPattern = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// semver makes a version that the micro protocol accepts; the true one is in the metadata.
func semver(version string) string {
	if v := strings.TrimPrefix(version, "v"); semverPattern.MatchString(v) {
		return v
	}
	return "0.0.0"
}
