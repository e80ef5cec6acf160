package jslog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// Lost is what AcceptLoss found.
type Lost struct {
	// Lines say what was accepted, for the operator; none if nothing is missing.
	Lines []string
	// End is true when the newest messages of a partition may be gone without a hole that shows it.
	End bool
}

func (f *Lost) hole(format string, args ...any) {
	f.Lines = append(f.Lines, fmt.Sprintf(format, args...))
}

func (f *Lost) end(format string, args ...any) {
	f.End = true
	f.hole(format, args...)
}

// losses are what the metadata of a partition's stream says of what is lost.
type losses struct {
	// accepted are the sequences whose loss was accepted, aside what is there and counts no more.
	accepted spans
	aside    asides
	// unrecorded are those of accepted that the workflows concerned have no record of yet; endLost says that more
	// may be lost at the end, namesLost that workflows may be lost with all their records.
	unrecorded         spans
	endLost, namesLost bool
}

// read takes it from the stream's metadata.
func (s *losses) read(stream jetstream.StreamConfig) (err error) {
	if s.accepted, err = parseSpans(stream.Metadata[metaLost]); err != nil {
		return fmt.Errorf("stream %s: %s: %w", stream.Name, metaLost, err)
	}
	if s.unrecorded, err = parseSpans(stream.Metadata[metaUnrecorded]); err != nil {
		return fmt.Errorf("stream %s: %s: %w", stream.Name, metaUnrecorded, err)
	}
	s.endLost, s.namesLost = stream.Metadata[metaEndLost] != "", stream.Metadata[metaNames] != ""
	if s.aside, err = parseAsides(stream.Metadata[metaAside]); err != nil {
		return fmt.Errorf("stream %s: %s: %w", stream.Name, metaAside, err)
	}
	return nil
}

// note writes it into a stream's metadata.
func (s *losses) note(metadata map[string]string) {
	for key, value := range map[string]string{
		metaLost: s.accepted.String(), metaAside: s.aside.String(),
		metaUnrecorded: s.unrecorded.String(), metaEndLost: yes(s.endLost), metaNames: yes(s.namesLost),
	} {
		if value == "" {
			delete(metadata, key)
		} else {
			metadata[key] = value
		}
	}
}

func yes(is bool) string {
	if is {
		return "true"
	}
	return ""
}

// asides are the messages of a partition that are there and count no more, by workflow. Those of
// all workflows stand under the empty name.
type asides map[eventlog.WorkflowName]spans

// allWorkflows stands for the empty name in what is stored; no workflow is called so.
const allWorkflows = "*"

// maxAsides bounds the text of a partition's asides, maxLost that of what was accepted as lost, and maxUnrecorded
// that of its newest part: the server keeps 128 KiB of metadata for a stream.
const (
	maxAsides     = 90 << 10
	maxLost       = 30 << 10
	maxUnrecorded = 4 << 10
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
