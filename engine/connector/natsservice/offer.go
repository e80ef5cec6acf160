package natsservice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/micro"

	"github.com/pawl-run/pawl/engine/connector"
)

// offer is what a service offers to scripts, all its instances taken together.
type offer struct {
	name      string
	endpoints []endpoint // by name
}

// same says whether nothing changed between two offers of a service.
func (o offer) same(other offer) bool {
	return slices.EqualFunc(o.endpoints, other.endpoints, func(a, b endpoint) bool {
		_, alike := a.same(b)
		return alike && a.operation.Name == b.operation.Name && a.operation.Summary == b.operation.Summary &&
			a.reconcile == b.reconcile
	})
}

// offers works out what the instances found offer. It decides from what they say alone.
func offers(instances []micro.Info, tools string) ([]offer, []Refusal) {
	all := newServed(instances)
	byName := make(map[string][]micro.Info)
	for _, in := range instances {
		byName[in.Name] = append(byName[in.Name], in)
	}
	var found []offer
	var refused []Refusal
	for name, group := range byName {
		slices.SortFunc(group, func(a, b micro.Info) int { return cmp.Compare(a.ID, b.ID) })
		o, no := offerOf(name, group, all, tools)
		refused = append(refused, no...)
		if len(o.endpoints) > 0 {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b offer) int { return cmp.Compare(a.name, b.name) })
	slices.SortFunc(refused, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Endpoint, b.Endpoint),
			cmp.Compare(a.Reason, b.Reason))
	})
	return found, slices.Compact(refused)
}

// offerOf works out what one service offers. all has the endpoints of every service.
func offerOf(name string, group []micro.Info, all *served, tools string) (offer, []Refusal) {
	o := offer{name: name}
	if !slices.ContainsFunc(group, func(in micro.Info) bool {
		return slices.ContainsFunc(in.Endpoints, func(e micro.EndpointInfo) bool { return meant(e, tools) })
	}) {
		return o, nil // a service of another purpose
	}
	if err := connector.ValidateName(name); err != nil {
		return o, []Refusal{{Service: name, Reason: err.Error()}}
	}
	known := make(map[string]endpoint)
	bad := make(map[string]Refusal)
	refuse := func(endpoint string, loud bool, format string, args ...any) {
		if before, ok := bad[endpoint]; !ok || loud && !before.Loud {
			bad[endpoint] = Refusal{Service: name, Endpoint: endpoint, Loud: loud, Reason: fmt.Sprintf(format, args...)}
		}
	}
	for _, in := range group {
		listed := make(map[string]bool)
		for _, info := range in.Endpoints {
			if !meant(info, tools) {
				continue
			}
			if listed[info.Name] {
				refuse(info.Name, false, "instance %.40s has two endpoints of that name", in.ID)
			}
			listed[info.Name] = true
			e, err := readEndpoint(info, tools+"."+name)
			if err != nil {
				refuse(info.Name, false, "%v", err)
			} else if before, ok := known[info.Name]; !ok {
				known[info.Name] = e
			} else if what, alike := before.same(e); !alike {
				refuse(info.Name, false, "the instances of the service do not agree on %s; stop the old ones "+
					"(instance %.40s differs)", what, in.ID)
			}
			if other := all.sharer(name, info); other != "" {
				refuse(info.Name, true, "its subject %s is also served by %s, so that one request could be carried "+
					"out by the wrong one or twice; give each a subject of its own", info.Subject, other)
			}
		}
	}
	names := make([]string, 0, len(known))
	for n := range known {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		e := known[n]
		if _, is := bad[n]; is || e.operation.Kind == kindReconcile {
			continue
		}
		if e.asks != "" {
			asked, ok := known[e.asks]
			_, is := bad[e.asks]
			if !ok || is || asked.operation.Kind != kindReconcile {
				refuse(n, false, "its %s names %q, which is no usable endpoint of kind reconcile of this service",
					metaReconcile, e.asks)
				continue
			}
			e.reconcile = asked.subject
		}
		o.endpoints = append(o.endpoints, e)
	}
	var refused []Refusal
	for _, r := range bad {
		refused = append(refused, r)
	}
	return o, refused
}

// served finds which endpoints get the requests on a subject.
type served struct {
	literal  map[string][]place
	patterns []place // with wildcards
}

// place is an endpoint of a service's instances.
type place struct{ service, endpoint, subject string }

func newServed(all []micro.Info) *served {
	s := &served{literal: make(map[string][]place)}
	seen := make(map[place]bool)
	for _, in := range all {
		for _, e := range in.Endpoints {
			p := place{in.Name, e.Name, e.Subject}
			if seen[p] {
				continue // another instance of the service
			}
			seen[p] = true
			if strings.ContainsAny(e.Subject, "*>") {
				s.patterns = append(s.patterns, p)
			} else {
				s.literal[e.Subject] = append(s.literal[e.Subject], p)
			}
		}
	}
	return s
}

// sharer names another endpoint that would get requests on this one's subject too; empty if none.
func (s *served) sharer(service string, info micro.EndpointInfo) string {
	for _, other := range slices.Concat(s.literal[info.Subject], s.patterns) {
		if (other.service != service || other.endpoint != info.Name) && overlap(info.Subject, other.subject) {
			return fmt.Sprintf("%s.%s (%s)", other.service, other.endpoint, other.subject)
		}
	}
	return ""
}
