package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// varzSubject asks all servers of a cluster for their settings; only the system account may.
const varzSubject = "$SYS.REQ.SERVER.PING.VARZ"

// quietFor: when no further server has answered for this long, it is assumed that all have answered.
const quietFor = 500 * time.Millisecond

// settingsOfServer is what a server reports about itself.
type settingsOfServer struct {
	Server struct {
		Name string `json:"name"`
	} `json:"server"`
	Data struct {
		JetStream struct {
			Config *struct {
				SyncAlways   bool          `json:"sync_always"`
				SyncInterval time.Duration `json:"sync_interval"` // in nanoseconds
			} `json:"config"`
		} `json:"jetstream"`
	} `json:"data"`
}

// Sync asks the servers of a cluster whether they sync each write. They answer only the system account, which nc must
// belong to. Servers without JetStream store nothing and do not count. It fails where no server answers.
func Sync(ctx context.Context, nc *nats.Conn) (Finding, error) {
	f := Finding{Check: CheckSync}
	answers := make(chan *nats.Msg, 64)
	inbox := nc.NewInbox()
	sub, err := nc.ChanSubscribe(inbox, answers)
	if err == nil {
		err = nc.PublishRequest(varzSubject, inbox, nil)
	}
	if err != nil {
		return f, fmt.Errorf("ask the servers for their settings: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // if it fails, the subscription ends with the connection
	var slow []string
	asked := 0
	for quiet := false; !quiet; {
		wait := quietFor
		if asked == 0 {
			wait = 4 * quietFor // the first answer may take longer
		}
		select {
		case m := <-answers:
			var s settingsOfServer
			if err := json.Unmarshal(m.Data, &s); err != nil || s.Server.Name == "" {
				return f, errors.New("ask the servers for their settings: is the account the system account?")
			}
			config := s.Data.JetStream.Config
			if config == nil {
				continue
			}
			if asked++; !config.SyncAlways {
				slow = append(slow, fmt.Sprintf("%s every %s", s.Server.Name, config.SyncInterval))
			}
		case <-time.After(wait):
			quiet = true
		case <-ctx.Done():
			return f, fmt.Errorf("ask the servers for their settings: %w", context.Cause(ctx))
		}
	}
	switch {
	case asked == 0:
		return f, errors.New("ask the servers for their settings: none answered; is the account the system account?")
	case len(slow) > 0:
		slices.Sort(slow)
		f.Verdict, f.Says = Weak, "not each write is synced before it is acknowledged: "+strings.Join(slow, ", ")
		f.Remedy = "set sync_interval: always in the jetstream block of each server: the loss of power of one server can " +
			"lose acknowledged writes"
	default:
		f.Verdict, f.Says = OK, fmt.Sprintf("%d servers sync each write before it is acknowledged", asked)
	}
	return f, nil
}
