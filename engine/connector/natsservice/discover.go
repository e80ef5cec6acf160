package natsservice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

const (
	// gatherTime bounds one round of questions.
	gatherTime = 2 * time.Second
	// askTime bounds the question to one instance.
	askTime = time.Second
	// askAtOnce bounds how many instances are asked alone at the same time.
	askAtOnce = 16
	// maxInstances, maxInfo (bytes of one answer), maxAllInfo (of all), maxEndpoints (of one instance) and
	// maxAllEndpoints bound what one round takes in. It is kept until the next round.
	maxInstances    = 4096
	maxInfo         = 1 << 20
	maxAllInfo      = 16 << 20
	maxEndpoints    = 256
	maxAllEndpoints = 16 << 10
)

// infoSubject is where every instance answers what it is.
const infoSubject = micro.APIPrefix + ".INFO"

// token is what may stand in a subject as the name or id of a service.
var token = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// gather asks all instances of all services what they are. Their number is not known, so it
// ends when no answer has come for a while; a known one that did not answer is asked alone then.
// What answers in a way that cannot be used is refused.
func gather(ctx context.Context, nc *nats.Conn, quiet time.Duration) ([]micro.Info, []Refusal, error) {
	if nc.Status() != nats.CONNECTED {
		return nil, nil, errors.New("look for services: not connected to NATS")
	}
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, nil, fmt.Errorf("look for services: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest(infoSubject, inbox, nil); err != nil {
		return nil, nil, fmt.Errorf("look for services: %w", err)
	}
	end := time.Now().Add(gatherTime)
	var found []micro.Info
	var refused []Refusal
	endpoints, size := 0, 0
	for len(found)+len(refused) < maxInstances {
		wait := time.Until(end)
		if len(found)+len(refused) > 0 {
			wait = min(wait, quiet)
		}
		once, cancel := context.WithTimeout(ctx, wait)
		m, err := sub.NextMsgWithContext(once)
		cancel()
		if err != nil {
			if ctx.Err() != nil {
				return nil, nil, fmt.Errorf("look for services: %w", ctx.Err())
			}
			if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders) {
				return found, refused, nil
			}
			return nil, nil, fmt.Errorf("look for services: %w", err)
		}
		info, err := readInfo(m)
		if size += len(m.Data); size > maxAllInfo {
			return found, append(refused, Refusal{Service: fmt.Sprintf("%.40q", info.Name), Loud: true,
				Reason: fmt.Sprintf("the answers of all services to %s have more than the %d bytes that are read", infoSubject,
					maxAllInfo)}), nil
		}
		if err != nil {
			refused = append(refused, Refusal{Service: fmt.Sprintf("%.40q", info.Name), Reason: err.Error()})
			continue
		}
		if endpoints += len(info.Endpoints); endpoints > maxAllEndpoints {
			return found, append(refused, Refusal{Service: info.Name, Loud: true, Reason: fmt.Sprintf(
				"there are more endpoints of services than the %d that are looked at", maxAllEndpoints)}), nil
		}
		found = append(found, info)
	}
	refused = append(refused, Refusal{Service: "*",
		Reason: fmt.Sprintf("there are more service instances than the %d that are looked at", maxInstances),
		Loud:   true})
	return found, refused, nil
}

// readInfo reads one instance's answer.
func readInfo(m *nats.Msg) (micro.Info, error) {
	var info micro.Info
	if failed := errorOf(m); failed != nil {
		return info, fmt.Errorf("it answers %s with an error: %s", infoSubject, failed.text)
	}
	if len(m.Data) > maxInfo {
		return info, fmt.Errorf("its answer to %s has %d bytes, at most %d are read", infoSubject, len(m.Data), maxInfo)
	}
	if err := json.Unmarshal(m.Data, &info); err != nil {
		return info, fmt.Errorf("its answer is not the JSON of a service: %w", err)
	}
	if n := len(info.Endpoints); n > maxEndpoints {
		return info, fmt.Errorf("it has %d endpoints, at most %d are used", n, maxEndpoints)
	}
	if !token.MatchString(info.Name) || !token.MatchString(info.ID) {
		return info, fmt.Errorf("its name %.40q or id %.40q may only have letters, digits, - and _", info.Name, info.ID)
	}
	return info, nil
}

// instance identifies an instance of a service; it is also the end of the subject to ask it alone.
func instance(info micro.Info) string { return info.Name + "." + info.ID }

// answer is what came of asking one instance alone.
type answer struct {
	info micro.Info
	// gone is true when the server knows that the instance is not there any more.
	gone bool
	err  error
}

// askEach asks instances one by one, some at the same time.
func askEach(ctx context.Context, nc *nats.Conn, ids []string) map[string]answer {
	answers := make(map[string]answer, len(ids))
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, askAtOnce)
	for _, id := range ids {
		slots <- struct{}{}
		all.Go(func() {
			a := askOne(ctx, nc, id)
			<-slots
			mu.Lock()
			defer mu.Unlock()
			answers[id] = a
		})
	}
	all.Wait()
	return answers
}

func askOne(ctx context.Context, nc *nats.Conn, id string) answer {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, infoSubject+"."+id, nil)
	if err != nil {
		return answer{gone: errors.Is(err, nats.ErrNoResponders), err: fmt.Errorf("ask service instance %s: %w", id,
			err)}
	}
	info, err := readInfo(m)
	if err == nil && instance(info) != id {
		err = fmt.Errorf("ask service instance %s: it answers that it is %s", id, instance(info))
	}
	return answer{info: info, err: err}
}
