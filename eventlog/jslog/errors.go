package jslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// verdict is what an answer to a publish means for the append.
type verdict int

const (
	// accepted: written, at the sequence in the answer.
	accepted verdict = iota
	// stale: refused by the fence; what stands in the log decides whose write it was.
	stale
	// busy: another write with this fence is in process, maybe one of this log; the same bytes are sent again.
	busy
	// lost: no answer, or one that says nothing about the write; the same bytes are sent again.
	lost
	// full: refused for lack of space.
	full
	// tooLarge: refused for its size.
	tooLarge
	// notBatched: the batch was refused as a batch; its messages must go one by one.
	notBatched
	// refused: refused for a reason that no repetition will change.
	refused
	// unsent: it has not been sent yet.
	unsent
)

// Codes of the JetStream API that nats.go has no names for.
const (
	codeAccountResources   = 10002
	codeInsufficient       = 10023
	codeMemoryResources    = 10028
	codeStorageResources   = 10047
	codeStreamCreate       = 10049
	codeStoreFailed        = 10077
	codeOfflineReason      = 10194
	codeBatchDisabled      = 10174
	codeBatchMissingSeq    = 10175
	codeBatchIncomplete    = 10176
	codeBatchHeader        = 10177
	codeBatchID            = 10179
	codeBatchTooLarge      = 10199
	codeBatchDuplicate     = 10201
	codeBatchInflight      = 10210
	codeBatchInflightOther = 10211
)

// answer is what the server said to one publish.
type answer struct {
	verdict verdict
	seq     uint64
	count   int
	err     error
}

type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%s (%d)", e.Description, e.ErrCode) }

// readAnswer interprets a reply to a publish. Whatever cannot be understood is lost, never accepted.
func readAnswer(m *nats.Msg) answer {
	if len(m.Data) == 0 {
		if m.Header.Get("Status") == "503" {
			return answer{verdict: lost, err: nats.ErrNoResponders}
		}
		return answer{verdict: lost, err: errors.New("empty answer")}
	}
	var a struct {
		Error  *apiError `json:"error"`
		Stream string    `json:"stream"`
		Seq    uint64    `json:"seq"`
		Count  int       `json:"count"`
		// Duplicate is never expected: no message id is sent.
		Duplicate bool `json:"duplicate"`
	}
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return answer{verdict: lost, err: fmt.Errorf("read answer: %w", err)}
	}
	switch {
	case a.Error != nil:
		return answer{verdict: judge(a.Error), err: a.Error}
	case a.Seq == 0 || a.Stream == "" || a.Duplicate:
		return answer{verdict: lost, err: fmt.Errorf("unexpected answer %q", m.Data)}
	}
	return answer{verdict: accepted, seq: a.Seq, count: a.Count}
}

func judge(e *apiError) verdict {
	switch e.ErrCode {
	case int(jetstream.JSErrCodeStreamWrongLastSequence):
		return stale
	case int(jetstream.JSErrCodeStreamWrongLastSequenceConstant):
		return busy
	case codeAccountResources, codeInsufficient, codeMemoryResources, codeStorageResources, codeStoreFailed:
		return full
	case int(jetstream.JSErrCodeStreamMessageExceedsMaximum):
		return tooLarge
	case codeBatchDisabled, codeBatchMissingSeq, codeBatchIncomplete, codeBatchHeader, codeBatchID,
		codeBatchTooLarge, codeBatchDuplicate, codeBatchInflight, codeBatchInflightOther:
		return notBatched
	}
	if e.Code >= 500 {
		return lost // an election, a server that starts or stops: it says nothing about the write
	}
	return refused
}

// refusal turns a final verdict into the error of an Append.
func refusal(a answer) error {
	switch a.verdict {
	case full:
		return fmt.Errorf("%w: the server says: %w", eventlog.ErrFull, a.err)
	case tooLarge:
		return fmt.Errorf("%w: the server says: %w", eventlog.ErrTooLarge, a.err)
	default:
		return fmt.Errorf("the server refused it: %w", a.err)
	}
}

// isMessageNotFound reports whether the leader says that there is no such message.
func isMessageNotFound(err error) bool {
	var e *apiError
	return errors.As(err, &e) && e.ErrCode == int(jetstream.JSErrCodeMessageNotFound)
}

// isStreamNotFound reports whether the server says that there is no such stream.
func isStreamNotFound(err error) bool { return errors.Is(err, jetstream.ErrStreamNotFound) }

// isNotUnderstood reports whether the server cannot serve a stream, since a newer server made or changed it.
func isNotUnderstood(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && int(api.ErrorCode) == codeOfflineReason
}

// isNameInUse reports whether another engine created the stream at the same time.
func isNameInUse(err error) bool { return errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) }

// finalError is an error that asking again will not change.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// notCreated says why a stream could not be created. Waiting does not help where there is no space, nor where the only
// server cannot create the stream; a cluster has other servers.
func notCreated(name string, replicas int, err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch {
		case judge(&apiError{Code: api.Code, ErrCode: int(api.ErrorCode)}) == full:
			err = fmt.Errorf("%w: the server says: %w", eventlog.ErrFull, err)
		case int(api.ErrorCode) == codeStreamCreate && replicas == 1:
			err = finalError{err}
		}
	}
	return fmt.Errorf("create stream %s: %w", name, err)
}

// errNoLeader: the server that has answered knows no leader of the stream.
var errNoLeader = errors.New("the stream has no leader")

// errBehind: a server that leads the stream, or did so a moment ago, lacks what another one has just named.
var errBehind = errors.New("the stream's leader lacks a message that was there just now")

// isTemporary reports whether asking the API again may help: a cluster without a leader, a
// connection that is coming back.
func isTemporary(err error) bool {
	if _, final := errors.AsType[finalError](err); final {
		return false
	}
	if errors.Is(err, eventlog.ErrClosed) || errors.Is(err, eventlog.ErrFull) || errors.Is(err, eventlog.ErrDamaged) ||
		errors.Is(err, eventlog.ErrNewerFormat) || errors.Is(err, nats.ErrConnectionClosed) {
		return false
	}
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch int(api.ErrorCode) {
		case codeInsufficient, codeOfflineReason, int(jetstream.JSErrCodeJetStreamNotEnabled),
			int(jetstream.JSErrCodeJetStreamNotEnabledForAccount):
			return false
		}
		return api.Code >= 500
	}
	return errors.Is(err, errNoLeader) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrDisconnected) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jetstream.ErrNoStreamResponse)
}

func isUnconfirmed(err error) bool { return errors.Is(err, eventlog.ErrUnconfirmed) }

func isNoSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) }
