package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// feed is the stream, pause is the time between two attempts to read it, and idle is how long a consumer outlives its
// connection. It is short, since all followers together may have a hundred consumers.
const (
	feed  = "PAWL_FEED"
	pause = 100 * time.Millisecond
	idle  = 30 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "follower:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("follower", flag.ContinueOnError)
	workflow := flags.String("workflow", "*", "only this workflow's facts")
	kind := flags.String("type", ">", "only facts of this type, e.g. run.committed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errors.New("usage: follower [-workflow NAME] [-type TYPE] URL-FILE PLACE-FILE")
	}
	address, err := os.ReadFile(flags.Arg(0))
	if err != nil {
		return fmt.Errorf("read the NATS URL: %w", err)
	}
	nc, err := nats.Connect(strings.TrimSpace(string(address)), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(pause))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	f := follower{js: js, file: flags.Arg(1), out: out, subject: "pawl.feed." + *workflow + "." + *kind}
	if err := f.readPlace(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		var wrong *otherFeed
		if err := f.follow(ctx); errors.As(err, &wrong) {
			return err
		} else if err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "follower: goes on behind", f.place.Sequence, "after:", err)
			time.Sleep(pause)
		}
	}
	return nil
}

// follower reads the feed.
type follower struct {
	js            jetstream.JetStream
	file, subject string
	out           io.Writer
	place         place
	told          uint64 // the feed's first fact when the follower last said that older ones are not kept
}

// place is the last fact that was handled: its sequence in the feed, and its id, by which it is recognised.
type place struct {
	Sequence uint64 `json:"sequence"`
	ID       string `json:"id"`
}

// otherFeed: the feed does not hold what this follower has read.
type otherFeed struct{ place place }

func (e *otherFeed) Error() string {
	return fmt.Sprintf("the feed has another fact at %d than %s: the engine has lost the end of its log, or the feed was "+
		"made again; compare with what was made of the facts, and begin anew without the place file", e.place.Sequence,
		e.place.ID)
}

// follow handles facts until something fails.
func (f *follower) follow(ctx context.Context) error {
	stream, err := f.js.Stream(ctx, feed)
	if err != nil {
		return err
	}
	if err := f.check(ctx, stream); err != nil {
		return err
	}
	ordered, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{f.subject},
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy, OptStartSeq: f.place.Sequence + 1,
		InactiveThreshold: idle,
	})
	if err != nil {
		return err
	}
	messages, err := ordered.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	var consumer string // its name on the server: an ordered consumer makes a new one there where it cannot go on
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		if meta.Consumer != consumer { // its first message is beyond the place, so the place can be compared now
			if err := f.check(ctx, stream); err != nil {
				return err
			}
			consumer = meta.Consumer
		}
		if meta.Sequence.Stream <= f.place.Sequence {
			continue
		}
		h := m.Headers()
		if _, err := fmt.Fprintln(f.out, meta.Sequence.Stream, h.Get("ce-id"), h.Get("ce-type"), h.Get("ce-partitionkey"),
			h.Get("ce-sequence"), string(m.Data())); err != nil {
			return err
		}
		f.place = place{meta.Sequence.Stream, h.Get("ce-id")}
		if err := f.keepPlace(); err != nil {
			return err
		}
	}
}

// check compares the place with the feed. An engine that was killed may have a feed that ends before the place: the
// same facts come again with the same sequences, and are not waited for here. Whether they are the same is seen when
// the first one beyond the place arrives.
func (f *follower) check(ctx context.Context, stream jetstream.Stream) error {
	info, err := stream.Info(ctx)
	if err != nil {
		return err
	}
	state := info.State
	if f.place.Sequence > 0 && f.place.Sequence+1 < state.FirstSeq && f.told < state.FirstSeq {
		f.told = state.FirstSeq
		fmt.Fprintf(os.Stderr, "follower: the facts %d to %d are not kept any more\n", f.place.Sequence+1, state.FirstSeq-1)
	}
	if f.place.Sequence < max(state.FirstSeq, 1) || f.place.Sequence > state.LastSeq {
		return nil
	}
	m, err := stream.GetMsg(ctx, f.place.Sequence)
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return err
	}
	if err == nil && m.Header.Get("ce-id") != f.place.ID {
		return &otherFeed{f.place}
	}
	return nil
}

func (f *follower) readPlace() error {
	text, err := os.ReadFile(f.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &f.place)
	}
	if err != nil {
		return fmt.Errorf("read the place: %w", err)
	}
	return nil
}

// keepPlace writes the place over the one before, in one write of the same length.
func (f *follower) keepPlace() error {
	text, err := json.Marshal(f.place)
	if err != nil {
		return fmt.Errorf("keep the place: %w", err)
	}
	file, err := os.OpenFile(f.file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep the place: %w", err)
	}
	_, err = fmt.Fprintf(file, "%-120s\n", text)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("keep the place: %w", err)
	}
	return nil
}
