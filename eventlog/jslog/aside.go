package jslog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// asides are the messages of a partition that are there and count no more, by workflow. Those of
// everyone stand under the empty name.
type asides map[eventlog.WorkflowName]spans

// everyone stands for the empty name in what is stored; no workflow is called so.
const everyone = "*"

// mostAsides bounds the text of a partition's asides: the server keeps 128 KiB of metadata for a stream.
const mostAsides = 100 << 10

// String is the form in which they are stored: `name:from-to` each.
func (a asides) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		stored := string(name)
		if stored == "" {
			stored = everyone
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
		if stored == everyone {
			stored = ""
		}
		a[eventlog.WorkflowName(stored)] = parsed
	}
	return a, nil
}

func (a asides) with(more []eventlog.Aside) asides {
	all := asides{}
	maps.Copy(all, a)
	for _, one := range more {
		all[one.Workflow] = all[one.Workflow].with(span{one.From, one.To})
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

// LastLost implements eventlog.LossKeeper.
func (l *Log) LastLost(p int) uint64 {
	accepted := l.partitions[p].accepted
	if len(accepted) == 0 {
		return 0
	}
	return accepted[len(accepted)-1].from
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
func (l *Log) SetAside(ctx context.Context, p int, more []eventlog.Aside) error {
	part := l.partitions[p]
	aside := part.aside.with(more)
	if size := len(aside.String()); size > mostAsides {
		return fmt.Errorf("set aside in stream %s: %w: %d bytes of names and sequences, at most %d fit", l.names.stream(p), eventlog.ErrTooLarge, size, mostAsides)
	}
	before := part.aside
	part.aside = aside
	if err := l.recordLoss(ctx, p, nil, true); err != nil {
		part.aside = before
		return err
	}
	return nil
}
