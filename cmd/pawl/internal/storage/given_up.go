package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/loss"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/durable"
)

// GivenUpLine is a mutation call in the report of an acceptance. State is its last recorded state.
type GivenUpLine struct {
	Workflow  eventlog.WorkflowName   `json:"workflow"`
	Mutation  eventlog.MutationID     `json:"mutation"`
	Run       eventlog.RunID          `json:"run"`
	Events    []eventRef              `json:"events"`
	Operation string                  `json:"operation"`
	Title     string                  `json:"title"`
	Params    json.RawMessage         `json:"params"`
	Key       string                  `json:"idempotencyKey"`
	State     eventlog.MutationStatus `json:"state"`
	Result    json.RawMessage         `json:"result"`
	StartedAt eventlog.Instant        `json:"startedAt"`
}

type eventRef struct {
	Topic     eventlog.Topic     `json:"topic"`
	MessageID eventlog.MessageID `json:"messageId"`
}

// mayReport refuses a report that could not be written, before anything is changed.
func mayReport(path string) error {
	if path == "" {
		return nil
	}
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return notReported(&fs.PathError{Op: "create", Path: path, Err: fs.ErrExist})
	case !errors.Is(err, fs.ErrNotExist):
		return notReported(err)
	}
	trial, err := os.CreateTemp(filepath.Dir(path), ".pawl-report-*")
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		return notReported(&fs.PathError{Op: "create", Path: path, Err: failure.Err})
	}
	if err != nil {
		return notReported(err)
	}
	if err := errors.Join(trial.Close(), os.Remove(trial.Name())); err != nil {
		return notReported(err)
	}
	return nil
}

func notReported(err error) error {
	return exit.Failed("nothing is given up; name another file: pawl verify --accept-loss --report FILE",
		fmt.Errorf("write down what will be given up: %w", err))
}

// reportGivenUp writes down, before anything is given up, the calls that will be: one JSON document a line,
// in a file that only its owner reads. An existing file is never written over. Without a path it names a file in the
// data directory; it returns the file's path, empty where there is no call.
func reportGivenUp(calls []loss.GivenUp, data, path string) (string, error) {
	if len(calls) == 0 {
		return "", nil
	}
	if path == "" {
		path = filepath.Join(data, "given-up-"+time.Now().UTC().Format("20060102T150405.000000")+".jsonl")
	}
	fail := func(err error) (string, error) { return "", notReported(err) }
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fail(err)
	}
	out := json.NewEncoder(f)
	out.SetEscapeHTML(false)
	for _, call := range calls {
		line := GivenUpLine{
			Workflow: call.Workflow, Mutation: call.Mutation, Run: call.Run, Events: []eventRef{},
			Operation: call.Call.Connector + "." + call.Call.Operation, Title: call.Call.UITitle, Params: call.Call.Params,
			Key: call.Key, State: call.Status, Result: call.Result, StartedAt: call.StartedAt,
		}
		for _, ref := range call.Events {
			line.Events = append(line.Events, eventRef(ref))
		}
		if err := out.Encode(line); err != nil {
			return fail(errors.Join(err, f.Close()))
		}
	}
	if err := errors.Join(f.Sync(), f.Close(), durable.SyncDir(filepath.Dir(path))); err != nil {
		return fail(err)
	}
	return path, nil
}
