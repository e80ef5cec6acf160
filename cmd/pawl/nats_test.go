package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// What is composed answers operators on NATS as it does over HTTP: the operations under
// pawl.api, events under pawl.in.
func TestNATSInterface(t *testing.T) {
	t.Parallel()
	s := config.Settings{
		Data: t.TempDir(), HTTP: "127.0.0.1:0", NATSListen: "127.0.0.1:0", Policies: schedule.Default(),
	}
	d, err := storage.Open(t.Context(), s, underTest().with, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	in, err := node.Compose(t.Context(), d, nil, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(strings.TrimSpace(read(t, filepath.Join(d.Broker.Listener.Dir(), "operator.url"))))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	err = in.Run(t.Context(), func(ctx context.Context) error {
		source := strings.ReplaceAll(smallScript, "NAME", "small")
		if _, err := in.Engine.Deploy(ctx, config.ActorNamed("ann"),
			engine.DeployRequest{Source: source, Filename: "small.ts"}); err != nil {
			return err
		}
		ask := func(subject, request string, into any) {
			t.Helper()
			answer, err := nc.Request(subject, []byte(request), 10*time.Second)
			if err != nil {
				t.Errorf("%s: %v", subject, err)
				return
			}
			if err := json.Unmarshal(answer.Data, into); err != nil {
				t.Errorf("%s: %v: %s", subject, err, answer.Data)
			}
		}
		var pushed struct{ Result string }
		if ask("pawl.in.small.t", `{"messageId":"1","title":"One"}`, &pushed); pushed.Result != "created" {
			t.Errorf("pushed: %+v", pushed)
		}
		var events readmodel.Page[readmodel.Event]
		if ask("pawl.api.listEvents", `{"topic":"t"}`, &events); len(events.Items) != 1 || events.Items[0].MessageID != "1" {
			t.Errorf("events: %+v", events)
		}
		var p rpc.Problem
		if ask("pawl.api.advanceClock", `{"by":"5m"}`, &p); p.Status != 409 || p.Code != "clock.system" {
			t.Errorf("refusal: %+v", p)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
