package jslog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// asides are the messages of a partition that are there and count no more, by workflow. Those of
// all workflows stand under the empty name.
type asides map[eventlog.WorkflowName]spans

// allWorkflows stands for the empty name in what is stored; no workflow is called so.
const allWorkflows = "*"

// mostAsides bounds the text of a partition's asides, mostLost that of what was accepted as lost, and mostUnrecorded
// that of its newest part: the server keeps 128 KiB of metadata for a stream.
const (
	mostAsides     = 90 << 10
	mostLost       = 30 << 10
	mostUnrecorded = 4 << 10
)

// String is the form in which they are stored: `name:from-to` each.
func (a asides) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		stored := string(name)
		if stored == "" {
			stored = allWorkflows
		}
		parts = append(parts, stored+":"+a[name].String())
	}
	return strings.Join(parts, ";")
}

func parseAsides(text string) (asides, error) {
	a := asides{}
	if text == "" {
		return a, nil
	}
	for part := range strings.SplitSeq(text, ";") {
		stored, ranges, _ := strings.Cut(part, ":")
		parsed, err := parseSpans(ranges)
		if err != nil || stored == "" || parsed == nil {
			return nil, fmt.Errorf("read what was set aside: %q is no workflow with sequences", part)
		}
		if stored == allWorkflows {
			stored = ""
		}
		a[eventlog.WorkflowName(stored)] = parsed
	}
	return a, nil
}

func (a asides) with(more []eventlog.Aside) asides {
	all := asides{}
	maps.Copy(all, a)
	added := map[eventlog.WorkflowName]spans{}
	for _, one := range more {
		added[one.Workflow] = append(added[one.Workflow], span{one.From, one.To})
	}
	for name, some := range added {
		all[name] = all[name].with(some...)
	}
	return all
}

// hold reports whether the workflow's message at seq is set aside.
func (a asides) hold(w eventlog.WorkflowName, seq uint64) bool {
	if len(a) == 0 {
		return false
	}
	return a[w].hold(seq) || a[""].hold(seq)
}

// last is the sequence of the workflow's last message when seq is the last one that counts: an append
// is fenced on what is there.
func (a asides) last(w eventlog.WorkflowName, seq uint64) uint64 {
	last := seq
	for _, s := range a[w] {
		if s.from > seq {
			last = max(last, s.to)
		}
	}
	return last
}

// Asides implements eventlog.LossKeeper.
func (l *Log) Asides(p int) []eventlog.Aside {
	var all []eventlog.Aside
	aside := l.partitions[p].aside
	for _, name := range slices.Sorted(maps.Keys(aside)) {
		for _, s := range aside[name] {
			all = append(all, eventlog.Aside{Workflow: name, From: s.from, To: s.to})
		}
	}
	return all
}

// SetAside implements eventlog.LossKeeper.
func (l *Log) SetAside(ctx context.Context, p int, more []eventlog.Aside) (int, error) {
	part := l.partitions[p]
	before := part.aside
	fits := func(n int) bool { return len(before.with(more[:n]).String()) <= mostAsides }
	n := len(more)
	if !fits(n) {
		n = sort.Search(len(more), func(n int) bool { return !fits(n + 1) })
	}
	tooMany := fmt.Errorf("set aside in stream %s: %w: %d of %d workflows and ranges fit into %d bytes", l.names.stream(p),
		eventlog.ErrTooLarge, n, len(more), mostAsides)
	if n == 0 && len(more) > 0 {
		return 0, tooMany
	}
	now := part.losses
	now.aside = before.with(more[:n])
	if err := l.recordLoss(ctx, p, now, true); err != nil {
		return 0, err
	}
	if n < len(more) {
		return n, tooMany
	}
	return n, nil
}

// lastForeign is the sequence of the last message, under the name of a workflow that has no transition yet, that was
// set aside for no workflow: a foreign one. The first transition follows it. It is 0 when there is none.
func (l *Log) lastForeign(ctx context.Context, p int, w eventlog.WorkflowName) (uint64, error) {
	aside, last := l.partitions[p].aside, uint64(0)
	for _, s := range aside[""] {
		for at := s.from; at <= s.to; at++ {
			m, err := l.fetchAgain(ctx, p, query{Seq: at, Next: l.names.fence(p, w)})
			if isMessageNotFound(err) {
				return last, nil
			}
			if err != nil {
				return 0, fmt.Errorf("look for foreign messages: %w", err)
			}
			if !aside.hold("", m.Seq) {
				return last, nil
			}
			last, at = m.Seq, m.Seq
		}
	}
	return last, nil
}
