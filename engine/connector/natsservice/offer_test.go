package natsservice

import (
	"slices"
	"testing"

	"github.com/nats-io/nats.go/micro"
)

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a.b", "a.b", true},
		{"a.b", "a.c", false},
		{"a.b", "a.b.c", false},
		{"a.*", "a.b", true},
		{"a.*", "a.b.c", false},
		{"*.b", "a.*", true},
		{"*.b", "a.c", false},
		{"a.>", "a.b.c", true},
		{"a.>", "a", false},
		{">", "a.b", true},
		{"a.b.>", "a.*", false},
		{"a.b.>", "*.b.c", true},
	} {
		if got := overlap(c.a, c.b); got != c.want {
			t.Errorf("overlap(%q, %q) = %t", c.a, c.b, got)
		}
		if got := overlap(c.b, c.a); got != c.want {
			t.Errorf("overlap(%q, %q) = %t", c.b, c.a, got)
		}
	}
}

// What instances must agree on: any one difference makes it unclear what a request would meet.
func TestInstancesMustAgree(t *testing.T) {
	base := func() micro.EndpointInfo {
		return micro.EndpointInfo{Name: "send", Subject: "pawl.tool.mail.send", QueueGroup: "q",
			Metadata: map[string]string{
				metaKind: "mutate", metaReconcile: "sent", metaTimeout: "1s", metaSchema: `{"type":"object"}`,
				metaResult: `{}`,
			}}
	}
	sent := func(name string) micro.EndpointInfo {
		return micro.EndpointInfo{Name: name, Subject: "pawl.tool.mail." + name, QueueGroup: "q",
			Metadata: map[string]string{metaKind: "reconcile"}}
	}
	for name, change := range map[string]func(*micro.EndpointInfo){
		"":            func(*micro.EndpointInfo) {},
		"kind":        func(e *micro.EndpointInfo) { e.Metadata[metaKind] = "get"; delete(e.Metadata, metaReconcile) },
		"reconcile":   func(e *micro.EndpointInfo) { e.Metadata[metaReconcile] = "gone" },
		"timeout":     func(e *micro.EndpointInfo) { e.Metadata[metaTimeout] = "2s" },
		"schema":      func(e *micro.EndpointInfo) { e.Metadata[metaSchema] = `{"type": "object"}` },
		"result":      func(e *micro.EndpointInfo) { e.Metadata[metaResult] = `{"type":"object"}` },
		"queue group": func(e *micro.EndpointInfo) { e.QueueGroup = "other" },
	} {
		other := base()
		change(&other)
		found, refused := offers([]micro.Info{
			{ServiceIdentity: micro.ServiceIdentity{Name: "mail", ID: "A"}, Endpoints: []micro.EndpointInfo{base(),
				sent("sent"), sent("gone")}},
			{ServiceIdentity: micro.ServiceIdentity{Name: "mail", ID: "B"},
				Endpoints: []micro.EndpointInfo{sent("gone"), other, sent("sent")}},
		}, "pawl.tool")
		offered := slices.ContainsFunc(found, func(o offer) bool {
			return len(o.endpoints) == 1 && o.endpoints[0].reconcile == "pawl.tool.mail.sent"
		})
		if offered != (name == "") || len(refused) == 0 != (name == "") {
			t.Errorf("differs in %q: offers %+v, refused %v", name, found, refused)
		}
	}
}
