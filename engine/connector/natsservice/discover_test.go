package natsservice

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// TestAnAnswerIsBounded: what one instance says of itself has a largest size and number of endpoints.
func TestAnAnswerIsBounded(t *testing.T) {
	t.Parallel()
	answer := func(endpoints int, summary string) error {
		info := micro.Info{ServiceIdentity: micro.ServiceIdentity{Name: "mail", ID: "A"}}
		for i := range endpoints {
			info.Endpoints = append(info.Endpoints, micro.EndpointInfo{Name: fmt.Sprint("e", i),
				Metadata: map[string]string{metaSummary: summary}})
		}
		text, err := json.Marshal(info)
		if err != nil {
			t.Fatal(err)
		}
		_, err = readInfo(&nats.Msg{Data: text})
		return err
	}
	if err := answer(maxEndpoints, "x"); err != nil {
		t.Error(err)
	}
	if err := answer(maxEndpoints+1, "x"); err == nil || !strings.Contains(err.Error(), "257 endpoints") {
		t.Errorf("too many endpoints: %v", err)
	}
	if err := answer(1, strings.Repeat("x", maxInfo)); err == nil || !strings.Contains(err.Error(),
		"at most 1048576 are read") {
		t.Errorf("too long an answer: %v", err)
	}
}

// TestSharedSubjectsAreFoundAmongMany: of many endpoints those that would get each other's requests are found without
// comparing each with each.
func TestSharedSubjectsAreFoundAmongMany(t *testing.T) {
	t.Parallel()
	var all []micro.Info
	for i := range maxAllEndpoints / maxEndpoints {
		name := fmt.Sprint("s", i)
		in := micro.Info{ServiceIdentity: micro.ServiceIdentity{Name: name, ID: "A"}}
		for n := range maxEndpoints {
			e := fmt.Sprint("e", n)
			in.Endpoints = append(in.Endpoints, micro.EndpointInfo{
				Name: e, Subject: "pawl.tool." + name + "." + e, QueueGroup: "q",
				Metadata: map[string]string{metaKind: "get"},
			})
		}
		all = append(all, in)
	}
	all[3].Endpoints[5].Subject = "pawl.tool.s4.*"
	found, refused := offers(all, "pawl.tool")
	if len(found) != len(all)-1 || len(refused) != maxEndpoints+1 {
		t.Errorf("%d services are offered and %d endpoints refused, want %d and %d", len(found), len(refused),
			len(all)-1, maxEndpoints+1)
	}
}
