package jslog

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// span is a range of sequences, both ends included.
type span struct{ from, to uint64 }

func (s span) String() string {
	if s.from == s.to {
		return strconv.FormatUint(s.from, 10)
	}
	return fmt.Sprintf("%d-%d", s.from, s.to)
}

// spans are sorted, without overlap, and not adjacent.
type spans []span

func (s spans) String() string {
	parts := make([]string, len(s))
	for i, one := range s {
		parts[i] = one.String()
	}
	return strings.Join(parts, ",")
}

func parseSpans(text string) (spans, error) {
	var s spans
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, ok := strings.Cut(part, "-")
		if !ok {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read sequences %q: %w", text, err)
		}
		to, err := strconv.ParseUint(last, 10, 64)
		if err != nil || to < from {
			return nil, fmt.Errorf("read sequences %q: %q is no range", text, part)
		}
		s = append(s, span{from, to})
	}
	return s.with(), nil
}

// with returns the union with more spans.
func (s spans) with(more ...span) spans {
	all := append(slices.Clone(s), more...)
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b span) int {
		if a.from < b.from {
			return -1
		}
		return 1
	})
	merged := all[:1]
	for _, next := range all[1:] {
		if last := &merged[len(merged)-1]; next.from <= last.to+1 {
			last.to = max(last.to, next.to)
		} else {
			merged = append(merged, next)
		}
	}
	return merged
}

// without returns what remains of s when the other spans are taken away.
func (s spans) without(other spans) spans {
	var rest spans
	for _, one := range s {
		for _, o := range other {
			if o.to < one.from || o.from > one.to {
				continue
			}
			if o.from > one.from {
				rest = append(rest, span{one.from, o.from - 1})
			}
			if o.to >= one.to {
				one.from, one.to = 1, 0
				break
			}
			one.from = o.to + 1
		}
		if one.from <= one.to {
			rest = append(rest, one)
		}
	}
	return rest
}

// within returns spans whose text takes at most so many bytes: the nearest ones are joined, and what lies
// between them counts as well. The last one is left alone: it says where the log ends.
func (s spans) within(most int) spans {
	for len(s) > 2 && len(s.String()) > most {
		// Join those whose gap is no larger than that of half of them.
		gaps := make([]uint64, 0, len(s)-2)
		for i := 1; i < len(s)-1; i++ {
			gaps = append(gaps, s[i].from-s[i-1].to)
		}
		slices.Sort(gaps)
		limit, joined := gaps[len(gaps)/2], spans{s[0]}
		for i := 1; i < len(s); i++ {
			if last := &joined[len(joined)-1]; i < len(s)-1 && s[i].from-last.to <= limit {
				last.to = s[i].to
			} else {
				joined = append(joined, s[i])
			}
		}
		s = joined
	}
	return s
}

// upTo returns what of the spans is not behind last.
func (s spans) upTo(last uint64) spans { return s.without(spans{{last + 1, math.MaxUint64}}) }

// hold reports whether seq is in one of the spans.
func (s spans) hold(seq uint64) bool {
	_, found := slices.BinarySearchFunc(s, seq, func(one span, seq uint64) int {
		switch {
		case one.to < seq:
			return -1
		case one.from > seq:
			return 1
		}
		return 0
	})
	return found
}

func (s spans) count() uint64 {
	var n uint64
	for _, one := range s {
		n += one.to - one.from + 1
	}
	return n
}

// runs joins single sequences into spans.
func runs(seqs []uint64) spans {
	seqs = slices.Sorted(slices.Values(seqs))
	var s spans
	for _, seq := range seqs {
		if n := len(s); n > 0 && seq <= s[n-1].to+1 {
			s[n-1].to = seq
			continue
		}
		s = append(s, span{seq, seq})
	}
	return s
}
