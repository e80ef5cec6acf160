package doctor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// These constants are what a NATS server of one's own needs.
const (
	// leastMajor and leastMinor are the oldest version that has what the log needs: atomic batches.
	leastMajor, leastMinor = 2, 12
	// wantedPayload is the limit of the embedded server; leastPayload is what the limits of scripts need.
	wantedPayload = 8 << 20
	leastPayload  = 4<<20 + 1024
	// mostSkew is how far clocks may differ.
	mostSkew = time.Second
	// slowRTT is the time of an answer from which on writes are slow.
	slowRTT = 50 * time.Millisecond
)

// The checks of a server that callers tell apart. An engine cannot work where one of the first two fails, and may work
// soon where only the third fails. The last two cannot be seen from an application's account.
const (
	CheckServer      = "server"
	CheckJetStream   = "JetStream"
	CheckAnswer      = "answer"
	CheckSync        = "sync"
	CheckPermissions = "permissions"
)

// Permissions are the permissions of the users of a server of one's own; docs and doctor show the same text.
const Permissions = "only the engines' user may publish to pawl.log.>, pawl.own.>, pawl.feed.> and $JS.API.>; each " +
	"tool has a user that may subscribe to pawl.tool.NAME.> and $SRV.> of its own name, and publish to inboxes; " +
	"followers may read through consumers that were made for them"

// Server looks at a NATS server with the account that engines would use there. It fails only when ctx ends.
func Server(ctx context.Context, nc *nats.Conn) (HealthReport, error) {
	var r HealthReport
	r.version(nc.ConnectedServerVersion())
	r.payload(nc.MaxPayload())
	r.distance(nc)
	js, err := jetstream.New(nc)
	if err != nil {
		return r, fmt.Errorf("look at the server: %w", err)
	}
	account, err := js.AccountInfo(ctx)
	switch {
	case ctx.Err() != nil:
		return r, fmt.Errorf("look at the server: %w", context.Cause(ctx))
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		r.Advise(CheckJetStream, Problem, "it is not enabled for this account",
			"enable it in the server's configuration (jetstream: enabled in the account), then look again")
		return r, nil
	case err != nil:
		r.Advise(CheckAnswer, Problem, fmt.Sprintf("JetStream does not answer: %v", err),
			"let this user publish to $JS.API.>, and see whether the cluster has a leader (nats server report jetstream)")
		return r, nil
	}
	r.account(account)
	if err := r.streams(ctx, js); err != nil {
		return r, err
	}
	r.Advise(CheckSync, Unknown, "whether the server syncs each write cannot be seen by an application's account",
		"set sync_interval: always in the server's jetstream block; with the default of 2 minutes the loss of power of one "+
			"server can lose acknowledged writes")
	r.Advise(CheckPermissions, Unknown, "what other users may do cannot be seen from here", Permissions)
	return r, nil
}

func (r *HealthReport) version(text string) {
	parts := strings.SplitN(strings.TrimPrefix(text, "v"), ".", 3)
	major, minor := 0, 0
	if len(parts) >= 2 {
		major, _ = strconv.Atoi(parts[0]) // a text that is no number counts as older than any version
		minor, _ = strconv.Atoi(parts[1])
	}
	if major < leastMajor || major == leastMajor && minor < leastMinor {
		r.Advise(CheckServer, Problem, "NATS "+text, fmt.Sprintf("run %d.%d or newer", leastMajor, leastMinor))
		return
	}
	r.Add(CheckServer, OK, "NATS "+text)
}

func (r *HealthReport) payload(most int64) {
	says := fmt.Sprintf("messages of up to %d bytes", most)
	switch {
	case most < leastPayload:
		r.Advise("max_payload", Problem, says, fmt.Sprintf("set max_payload to %d or more: transitions have up to 4 MiB",
			wantedPayload))
	case most < wantedPayload:
		r.Advise("max_payload", Weak, says, fmt.Sprintf("set max_payload to %d, as the server inside of pawl has it",
			wantedPayload))
	default:
		r.Add("max_payload", OK, says)
	}
}

func (r *HealthReport) distance(nc *nats.Conn) {
	switch rtt, err := nc.RTT(); {
	case err != nil:
		r.Advise("distance", Problem, fmt.Sprintf("the server does not answer: %v", err), "look at the network between")
	case rtt > slowRTT:
		r.Advise("distance", Weak, fmt.Sprintf("an answer takes %s", rtt.Round(time.Millisecond)),
			"run engines near the servers: each run waits for up to four writes, one after the other")
	default:
		r.Add("distance", OK, fmt.Sprintf("an answer takes %s", rtt.Round(10*time.Microsecond)))
	}
}

func (r *HealthReport) account(a *jetstream.AccountInfo) {
	says := fmt.Sprintf("%d streams, %d bytes stored", a.Streams, a.Store)
	limits := a.Limits
	switch {
	case limits.MaxStreams > 0 && a.Streams >= limits.MaxStreams:
		r.Advise("account", Problem, fmt.Sprintf("%s, of %d streams that it may have", says, limits.MaxStreams),
			"raise the account's max_streams: pawl needs one for each partition and up to five more")
	case limits.MaxStore > 0 && a.Store*10 >= uint64(limits.MaxStore)*9:
		r.Advise("account", Problem, fmt.Sprintf("%s, of %d that it may store", says, limits.MaxStore),
			"raise the account's max_file: nothing is recorded once it is full")
	case limits.MaxStore > 0:
		r.Advise("account", Weak, fmt.Sprintf("%s, of %d that it may store", says, limits.MaxStore),
			"the log keeps everything: see that the limit grows with it")
	default:
		r.Add("account", OK, says)
	}
}

// streams looks at the log's streams, where there are any, and at the server's clock: information about a stream has
// the server's time.
func (r *HealthReport) streams(ctx context.Context, js jetstream.JetStream) error {
	list, found, before := js.ListStreams(ctx), 0, time.Now()
	var skew time.Duration
	dated := false
	for info := range list.Info() {
		if !info.TimeStamp.IsZero() && !dated {
			now := time.Now()
			skew, dated = info.TimeStamp.Sub(before.Add(now.Sub(before)/2)), true
		}
		if strings.HasPrefix(info.Config.Name, "PAWL_LOG_") {
			found++
			r.stream(info)
		}
	}
	if err := list.Err(); err != nil && ctx.Err() != nil {
		return fmt.Errorf("look at the streams: %w", err)
	} else if err != nil {
		r.Advise("streams", Problem, fmt.Sprintf("they cannot be listed: %v", err), "let this user publish to $JS.API.>")
		return nil
	}
	if found == 0 {
		r.Add("streams", OK, "there is no log of pawl yet")
	}
	switch {
	case !dated:
		r.Advise("clock", Unknown, "the server tells its time only with a stream, and there is none",
			"keep the clocks of all machines together with NTP")
	case skew.Abs() > mostSkew:
		r.Advise("clock", Problem, fmt.Sprintf("the server's clock differs by %s from this machine's", skew),
			"keep the clocks of all machines together with NTP")
	default:
		r.Add("clock", OK, fmt.Sprintf("the server's clock differs by %s", skew.Round(time.Millisecond)))
	}
	return nil
}

func (r *HealthReport) stream(info *jetstream.StreamInfo) {
	c, says := info.Config, fmt.Sprintf("%d replicas, %d messages, %d bytes", info.Config.Replicas, info.State.Msgs,
		info.State.Bytes)
	switch {
	case c.Retention != jetstream.LimitsPolicy || c.MaxAge != 0 || c.MaxMsgs > 0 || c.MaxBytes > 0:
		r.Advise(c.Name, Problem, "it is configured to drop messages",
			"remove its limits, then look whether the log is whole: pawl verify")
	case c.Storage != jetstream.FileStorage:
		r.Advise(c.Name, Problem, "it is kept in memory", "make a backup, and restore it into streams on disk")
	case c.Replicas < 3:
		r.Advise(c.Name, Weak, says,
			"if its one disk is lost, the log is lost: make it three replicas, where there are three servers")
	default:
		r.Add(c.Name, OK, says)
	}
}
