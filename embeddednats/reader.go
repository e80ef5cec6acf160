package embeddednats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A reader of streams lives in an account of its own. Permissions alone do not keep a reader from
// writing: a user that may send JetStream any request can name any subject for the answer, or as the
// target of a consumer, and the server checks neither. In an account of its own an answer reaches
// the asker only, and consumers are created for it by the gate.

const (
	// idleLimit is how long a consumer outlives its reader at most. A reader that stays away longer starts a
	// new one where it stopped: at a sequence.
	idleLimit = 5 * time.Minute
	// readerConsumers is how many consumers a stream may have when a reader asks for one more. The engine has
	// no such limit: see [Config.options].
	readerConsumers = 100
)

// readable lists the requests that a reader of the stream may send.
func readable(stream string) []string {
	return []string{
		"$JS.API.STREAM.INFO." + stream,
		"$JS.API.STREAM.MSG.GET." + stream,
		"$JS.API.DIRECT.GET." + stream,
		"$JS.API.DIRECT.GET." + stream + ".>",
		"$JS.API.CONSUMER.NAMES." + stream,
		"$JS.API.CONSUMER.LIST." + stream,
		"$JS.API.CONSUMER.INFO." + stream + ".*",
		"$JS.API.CONSUMER.MSG.NEXT." + stream + ".*",
		"$JS.ACK." + stream + ".>",
	}
}

// openStreams opens to the reader's account the requests that it may send to the engine's account and to the gate.
func (g gate) openStreams(s *server.Server, u User, account *server.Account) error {
	engine := s.GlobalAccount()
	open := func(from, to string) error {
		if err := engine.AddServiceExportWithResponse(to, server.Streamed, nil); err != nil {
			return fmt.Errorf("open %s to NATS user %s: %w", to, u.Name, err)
		}
		if err := account.AddServiceImport(engine, from, to); err != nil {
			return fmt.Errorf("open %s to NATS user %s: %w", from, u.Name, err)
		}
		return nil
	}
	for _, stream := range u.Streams {
		for _, subject := range readable(stream) {
			if err := open(subject, subject); err != nil {
				return err
			}
		}
		for _, rest := range []string{stream, stream + ".*", stream + ".*.>"} {
			if err := open(consumerCreate+rest, gateSubject+rest); err != nil {
				return err
			}
		}
	}
	return g.openListing(u, open)
}

// consumerRequest is what a reader may say about a consumer. What it says beyond that is left out.
type consumerRequest struct {
	Stream string         `json:"stream_name"`
	Config consumerConfig `json:"config"`
	Action string         `json:"action"`
}

type consumerConfig struct {
	Name              string            `json:"name,omitempty"`
	Durable           string            `json:"durable_name,omitempty"`
	Description       string            `json:"description,omitempty"`
	DeliverPolicy     string            `json:"deliver_policy,omitempty"`
	OptStartSeq       uint64            `json:"opt_start_seq,omitempty"`
	OptStartTime      *time.Time        `json:"opt_start_time,omitempty"`
	AckPolicy         string            `json:"ack_policy,omitempty"`
	AckWait           time.Duration     `json:"ack_wait,omitempty"`
	MaxDeliver        int               `json:"max_deliver,omitempty"`
	FilterSubject     string            `json:"filter_subject,omitempty"`
	FilterSubjects    []string          `json:"filter_subjects,omitempty"`
	ReplayPolicy      string            `json:"replay_policy,omitempty"`
	MaxWaiting        int               `json:"max_waiting,omitempty"`
	MaxAckPending     int               `json:"max_ack_pending,omitempty"`
	HeadersOnly       bool              `json:"headers_only,omitempty"`
	MaxRequestBatch   int               `json:"max_batch,omitempty"`
	MaxRequestExpires time.Duration     `json:"max_expires,omitempty"`
	InactiveThreshold time.Duration     `json:"inactive_threshold,omitempty"`
	MemoryStorage     bool              `json:"mem_storage,omitempty"`
	Metadata          map[string]string `json:"metadata,omitempty"`
	// DeliverSubject is read to be refused.
	DeliverSubject string `json:"deliver_subject,omitempty"`
}

func openGate(nc *nats.Conn) (gate, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return gate{}, fmt.Errorf("open the gate for readers: %w", err)
	}
	g := gate{nc, js, make(map[string]bool)}
	// One server of a cluster answers.
	if _, err := nc.QueueSubscribe(gateSubject+">", "gate", g.serve); err != nil {
		return gate{}, fmt.Errorf("open the gate for readers: %w", err)
	}
	return g, nc.Flush()
}

func (g gate) serve(m *nats.Msg) {
	rest := strings.TrimPrefix(m.Subject, gateSubject)
	stream, _, _ := strings.Cut(rest, ".")
	request, err := consumerFor(stream, m.Data)
	if err != nil {
		refuse(m, server.JSApiConsumerCreateResponseType, http.StatusForbidden, 0, err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), gateTime)
	defer cancel()
	full, err := g.full(ctx, stream)
	if err != nil {
		return // the reader's own request times out like this one did
	}
	if full {
		refuse(m, server.JSApiConsumerCreateResponseType, http.StatusBadRequest, int(server.JSMaximumConsumersLimitErr),
			fmt.Errorf("stream %s has %d consumers, which is all that its readers may have; one that is not used ends after %s",
				stream, readerConsumers, idleLimit))
		return
	}
	answer, err := g.nc.RequestWithContext(ctx, consumerCreate+rest, request)
	if err != nil {
		return // as above
	}
	_ = m.Respond(answer.Data)
}

// full reports whether the stream has all the consumers that readers may have. It is not full where there is no such
// stream: JetStream says that itself.
func (g gate) full(ctx context.Context, name string) (bool, error) {
	stream, err := g.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if stream.CachedInfo().State.Consumers < readerConsumers {
		return false, nil
	}
	if !g.swept[name] {
		if err := sweep(ctx, stream); err != nil {
			return false, err // the next request sweeps the rest
		}
		g.swept[name] = true
	}
	info, err := stream.Info(ctx)
	return err == nil && info.State.Consumers >= readerConsumers, err
}

// sweep deletes the consumers that readers made by way of an earlier version, which let thousands of them
// outlive their readers by a day, and that day begins anew with each start. The engine's own end after a minute.
func sweep(ctx context.Context, stream jetstream.Stream) error {
	list := stream.ListConsumers(ctx)
	var old []string
	for info := range list.Info() {
		if info.Config.InactiveThreshold > idleLimit {
			old = append(old, info.Name)
		}
	}
	if err := list.Err(); err != nil {
		return err
	}
	for _, name := range old {
		if err := stream.DeleteConsumer(ctx, name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return err
		}
	}
	return nil
}

// consumerFor makes the request that is passed on to JetStream from the reader's own. It takes over only what
// consumerConfig names.
func consumerFor(stream string, data []byte) ([]byte, error) {
	if len(data) > maxRequest {
		return nil, fmt.Errorf("the request for a consumer has %d bytes, the limit is %d", len(data), maxRequest)
	}
	var r consumerRequest
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("read the request for a consumer: %w", err)
	}
	if r.Config.DeliverSubject != "" {
		return nil, fmt.Errorf("a subscriber may only have pull consumers: leave deliver_subject out")
	}
	if r.Stream != stream {
		return nil, fmt.Errorf("the request names stream %.80q, its subject %s", r.Stream, stream)
	}
	// Never an update: that would let a reader change a consumer that is not its own.
	r.Action = "create"
	if idle := r.Config.InactiveThreshold; idle <= 0 || idle > idleLimit {
		r.Config.InactiveThreshold = idleLimit
	}
	return json.Marshal(r)
}
