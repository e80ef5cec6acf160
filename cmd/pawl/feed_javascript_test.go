package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// javaScriptFollower is the path of the example in JavaScript, beside its packages.
func javaScriptFollower(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(packages(t, "follower"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"follower.js", "package.json"} {
		write(t, filepath.Join(dir, name), read(t, "example/follower-node/"+name))
	}
	return filepath.Join(dir, "follower.js")
}

// The follower of the example in JavaScript, with the official client.
func TestFeedThroughKillsInJavaScript(t *testing.T) {
	long(t)
	t.Parallel()
	followThroughKills(t, "node", javaScriptFollower(t))
}

// What the feed holds is not what the follower has read, or not all of it: the follower waits for what comes again,
// says what is missing, and ends where others stand in the place.
func TestJavaScriptFollowerKnowsItsPlace(t *testing.T) {
	t.Parallel()
	program := javaScriptFollower(t)
	for name, test := range map[string]struct {
		place         string
		before, after []string // the facts that the feed has, and gets once the follower waits
		prints        string
		code          int // with which the follower ends; 0 where it goes on
	}{
		"the same facts come again": {`{"sequence":5,"id":"b-5"}`, []string{"b-1", "b-2", "b-3"},
			[]string{"b-4", "b-5", "d-6"}, `^6 d-6 `, 0},
		"others come": {`{"sequence":5,"id":"b-5"}`, []string{"b-1", "b-2", "b-3"}, []string{"b-4", "c-5", "d-6"},
			`^follower: the feed has another fact at 5 than b-5`, 1},
		"others are there": {`{"sequence":3,"id":"b-3"}`, []string{"b-1", "b-2", "c-3"}, nil,
			`^follower: the feed has another fact at 3 than b-3`, 1},
		"older ones are gone": {`{"sequence":1,"id":"b-1"}`, []string{"b-1", "b-2", "b-3", "b-4", "b-5", "b-6"},
			nil, `^follower: the facts 2 to 2 are not kept any more\n(?s:.*)^3 b-3 (?s:.*)^6 b-6 `, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := place(t, map[string]string{"place.json": test.place})
			users, err := embeddednats.Users(dir, "", 1)
			if err != nil {
				t.Fatal(err)
			}
			server := natstest.NewServer(t, natstest.Fast, func(c *embeddednats.Config) {
				c.ListenAddr, c.Users = "127.0.0.1:0", users
			})
			if err := server.WriteURLs(dir); err != nil {
				t.Fatal(err)
			}
			nc := natstest.Connect(t, server)
			js, err := jetstream.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "PAWL_FEED",
				Subjects: []string{"pawl.feed.>"}, AllowDirect: true, MaxMsgs: 4}); err != nil {
				t.Fatal(err)
			}
			publish := func(ids []string) {
				t.Helper()
				for _, id := range ids {
					m := &nats.Msg{Subject: "pawl.feed.w.run.committed", Header: nats.Header{"ce-id": {id}}}
					if _, err := js.PublishMsg(t.Context(), m); err != nil {
						t.Fatal(err)
					}
				}
			}
			publish(test.before)
			waits, err := nc.SubscribeSync("$JS.EVENT.ADVISORY.CONSUMER.CREATED.PAWL_FEED.>")
			if err != nil {
				t.Fatal(err)
			}
			if err := nc.Flush(); err != nil {
				t.Fatal(err)
			}
			follower := spawn(t, command(t, dir, "node", program, "subscriber.url", "place.json"))
			if test.after != nil {
				if _, err := waits.NextMsg(time.Minute); err != nil {
					t.Fatalf("the follower makes no consumer: %v\n%s", err, follower.text())
				}
				publish(test.after)
			}
			if !follower.waitFor(regexp.MustCompile("(?m)"+test.prints), longest) {
				t.Fatalf("it never printed %s:\n%s", test.prints, follower.text())
			}
			if test.code == 0 {
				if err := follower.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			follower.done.Wait()
			err = follower.cmd.Wait()
			if test.code != 0 && fmt.Sprint(err) != fmt.Sprintf("exit status %d", test.code) {
				t.Errorf("it ended with %v:\n%s", err, follower.text())
			}
		})
	}
}
