package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/subscription"
)

// Alert is what a receiver is sent under data.
type Alert struct {
	Workflow  eventlog.WorkflowName `json:"workflow"`
	Condition Condition             `json:"condition"`
	told
	// Message and Commands are what `pawl why` says.
	Message  string   `json:"message"`
	Commands []string `json:"commands"`
	// Text is all of it for a person, as chat tools show it.
	Text string `json:"text"`
	// Link leads to the explanation, where the engine has a public address.
	Link string `json:"link,omitempty"`
}

// escaped replaces the characters that mark mentions and links in Slack, and in tools with its syntax: a title or an
// error that came from outside must neither notify a channel nor become a link.
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// text is the whole alert for a person.
func (a Alert) text() string { return escaped.Replace(a.plain()) }

func (a Alert) plain() string {
	var b strings.Builder
	if a.State == Resolved {
		fmt.Fprintf(&b, "Resolved: workflow %s %s no more (%s).", a.Workflow, title[a.Condition], a.Reason)
		return b.String()
	}
	again := ""
	if a.State == Repeated {
		again = "still "
	}
	fmt.Fprintf(&b, "Workflow %s %s%s (%s).\n%s", a.Workflow, again, title[a.Condition], a.Reason, a.Message)
	for _, command := range a.Commands {
		b.WriteString("\n    " + command)
	}
	if a.Link != "" {
		b.WriteString("\n" + a.Link)
	}
	return b.String()
}

// maxText bounds the text of an alert in bytes: chat tools cut longer ones.
const maxText = 4 << 10

// open finds the stream, or makes it, and reads the last alerts.
func (r *Raiser) open(ctx context.Context) error {
	if r.stream != nil {
		return nil
	}
	name := StreamName(r.cfg.Prefix)
	stream, err := r.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = r.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Description: "Pawl's alerts: what a person was told of, by workflow and condition.",
			Subjects: []string{r.cfg.Prefix + ".alert.>"}, Storage: jetstream.FileStorage, Replicas: r.cfg.Replicas,
			MaxMsgsPerSubject: kept, Discard: jetstream.DiscardOld,
		})
	}
	if err != nil {
		return fmt.Errorf("open stream %s: %w", name, err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(r.cfg.Prefix+".alert.>"))
	if err != nil {
		return fmt.Errorf("read the alerts of stream %s: %w", name, err)
	}
	known := map[string]*told{}
	for at := range info.State.Subjects {
		if known[at], err = lastTold(ctx, stream, at); err != nil {
			return err
		}
	}
	r.stream, r.told = stream, known
	return nil
}

func lastTold(ctx context.Context, stream jetstream.Stream, at string) (*told, error) {
	m, err := stream.GetLastMsgForSubject(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read the last alert at %s: %w", at, err)
	}
	last := Alert{}
	if err := json.Unmarshal(m.Data, &last); err != nil {
		return nil, fmt.Errorf("read the last alert at %s: %w", at, err)
	}
	last.seq = m.Sequence
	return &last.told, nil
}

// tell publishes an alert, unless one was published that is newer than the last known one.
func (r *Raiser) tell(ctx context.Context, at string, a Alert, last uint64) error {
	if r.cfg.PublicURL != "" {
		a.Link = strings.TrimSuffix(r.cfg.PublicURL, "/") + "/v1/workflows/" + url.PathEscape(string(a.Workflow)) + "/why"
	}
	if a.Commands == nil || a.State == Resolved {
		a.Commands = []string{}
	}
	a.Text = eventlog.Clip(a.text(), maxText)
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write alert %s: %w", at, err)
	}
	m := nats.NewMsg(at)
	m.Data = data
	for name, value := range map[string]string{
		"ce-specversion": "1.0", "ce-id": fmt.Sprintf("alert.%s.%s.%d", a.Workflow, a.Condition, a.At.UnixMicro()),
		"ce-source": "/pawl/" + eventlog.InstallationID(r.cfg.Installation) + "/" + string(a.Workflow),
		"ce-type":   "pawl.alert." + string(a.State) + ".v1", "ce-time": a.At.Format(time.RFC3339Nano),
		"ce-partitionkey": string(a.Workflow), "ce-datacontenttype": "application/json",
		subscription.TextHeader: "text",
	} {
		m.Header.Set(name, value)
	}
	ack, err := r.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(last))
	if err != nil {
		r.stream = nil // it is opened again
		return fmt.Errorf("publish alert %s: %w", at, err)
	}
	a.seq = ack.Sequence
	r.told[at] = &a.told
	r.cfg.Logger.Debug("an alert is to be delivered", "workflow", string(a.Workflow), "condition", string(a.Condition),
		"state", string(a.State))
	return nil
}
