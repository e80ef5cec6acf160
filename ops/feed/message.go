package feed

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/eventlog"
)

// The headers of a message: those of CloudEvents 1.0 in binary mode, and Pawl's own.
const (
	headerSpec      = "ce-specversion"
	headerID        = "ce-id"
	headerSource    = "ce-source"
	headerType      = "ce-type"
	headerTime      = "ce-time"
	headerDataType  = "ce-datacontenttype"
	headerContent   = "content-type"
	headerKey       = "ce-partitionkey"
	headerSequence  = "ce-sequence"
	headerCount     = "pawl-count"
	headerPosition  = "pawl-position"
	headerPositions = "pawl-positions"
	headerData      = "pawl-data"

	dataOmitted = "omitted"
	jsonType    = "application/json"
	specVersion = "1.0"
)

// The names in the announcement of a part of the log that cannot be read. No workflow has such a name, and no fact such
// a type.
const (
	logToken       = "_log"
	typeUnreadable = "log.unreadable"
)

// Unreadable is the body of the announcement that a part of the log cannot be read.
type Unreadable struct {
	Partition int    `json:"partition"`
	Seq       uint64 `json:"seq"`
	// Problem says what is wrong, for a person.
	Problem string `json:"problem"`
}

// writer makes the messages of one feed.
type writer struct {
	prefix, source string
	maxData        int
}

func newWriter(c Config) writer {
	source := "/pawl/" + eventlog.InstallationID(c.Installation)
	return writer{prefix: c.Prefix + ".feed.", source: source, maxData: c.MaxData}
}

// message is fact n (from 1) of a record. positions are the positions up to which each partition is published with it.
func (w writer) message(r *eventlog.Record, n int, positions string) (*nats.Msg, error) {
	fact := r.Facts[n-1]
	kind := fact.FactType()
	data, err := json.Marshal(fact)
	if err != nil {
		return nil, fmt.Errorf("encode %s of %s at %s: %w", kind, r.Workflow, r.Position, err)
	}
	name := string(r.Workflow)
	h := newHeader()
	h.set(headerSpec, specVersion)
	h.set(headerID, string(r.ID)+"-"+strconv.Itoa(n))
	h.set(headerSource, w.source+"/"+name)
	h.set(headerType, nameOfType(string(kind), eventlog.VersionOf(fact)))
	if r.At != 0 {
		h.set(headerTime, r.At.String())
	}
	h.set(headerKey, name)
	h.set(headerSequence, paddedRevision(r.Revision))
	h.set(headerCount, strconv.Itoa(len(r.Facts)))
	h.set(headerPosition, r.Position.String())
	h.set(headerPositions, positions)
	if len(data) > w.maxData {
		data = nil
		h.set(headerData, dataOmitted)
	} else {
		h.set(headerDataType, jsonType)
		h.set(headerContent, jsonType)
	}
	return &nats.Msg{Subject: w.prefix + name + "." + string(kind), Header: h.header, Data: data}, nil
}

// notice announces that the log cannot be read at a position. Workflow is empty where it is not known.
func (w writer) notice(at eventlog.Position, workflow eventlog.WorkflowName, problem error,
	positions string) (*nats.Msg, error) {
	data, err := json.Marshal(Unreadable{at.Partition, at.Seq, problem.Error()})
	if err != nil {
		return nil, fmt.Errorf("encode the announcement at %s: %w", at, err)
	}
	h, subject := newHeader(), logToken
	h.set(headerSource, w.source)
	if workflow.Validate() == nil {
		subject = string(workflow)
		h.set(headerSource, w.source+"/"+subject)
		h.set(headerKey, subject)
	}
	h.set(headerSpec, specVersion)
	h.set(headerID, noticeID(at))
	h.set(headerType, nameOfType(typeUnreadable, 1))
	h.set(headerDataType, jsonType)
	h.set(headerContent, jsonType)
	h.set(headerCount, "1")
	h.set(headerPosition, at.String())
	h.set(headerPositions, positions)
	return &nats.Msg{Subject: w.prefix + subject + "." + typeUnreadable, Header: h.header, Data: data}, nil
}

// nameOfType is the name of a type and version in CloudEvents.
func nameOfType(name string, version int) string {
	return "pawl." + name + ".v" + strconv.Itoa(version)
}

// noticeID is the id of an announcement, which has no transition whose id it could use.
func noticeID(at eventlog.Position) string { return "unreadable." + at.String() + "-1" }

// paddedRevision is a revision as a text, padded so that texts and numbers have the same order.
func paddedRevision(revision uint64) string {
	digits := strconv.FormatUint(revision, 10)
	return strings.Repeat("0", 20-len(digits)) + digits
}

// header is a message's header with all values in one allocation.
type header struct {
	header nats.Header
	values []string
}

// maxHeaders is how many headers a message has at most, with its fence.
const maxHeaders = 14

func newHeader() *header {
	return &header{make(nats.Header, maxHeaders), make([]string, 0, maxHeaders)}
}

func (h *header) set(name, value string) {
	h.values = append(h.values, value)
	h.header[name] = h.values[len(h.values)-1 : len(h.values) : len(h.values)]
}

// entry is what a message of the feed says about itself.
type entry struct {
	sequence   uint64 // in the feed
	transition eventlog.TransitionID
	n, count   int
	position   eventlog.Position
	positions  []uint64 // the last position of each partition that is published with it
	notice     bool
}

// readEntry reads the headers of a message.
func readEntry(sequence uint64, h nats.Header) (e entry, err error) {
	e.sequence = sequence
	id := h.Get(headerID)
	dash := max(strings.LastIndexByte(id, '-'), 0)
	e.transition = eventlog.TransitionID(id[:dash])
	if e.position, err = eventlog.ParsePosition(h.Get(headerPosition)); err != nil {
		return e, fmt.Errorf("header %s: %w", headerPosition, err)
	}
	for text := range strings.SplitSeq(h.Get(headerPositions), ",") {
		p, err := eventlog.ParsePosition(text)
		if err != nil || p.Partition != len(e.positions) {
			return e, fmt.Errorf("header %s says %q", headerPositions, h.Get(headerPositions))
		}
		e.positions = append(e.positions, p.Seq)
	}
	e.n, err = strconv.Atoi(strings.TrimPrefix(id[dash:], "-"))
	count, countErr := strconv.Atoi(h.Get(headerCount))
	if e.count = count; err != nil || countErr != nil || e.n < 1 || e.n > e.count {
		return e, fmt.Errorf("headers %s and %s say %q of %q", headerID, headerCount, id, h.Get(headerCount))
	}
	e.notice = id == noticeID(e.position)
	return e, nil
}

// renderPositions joins the positions up to which each partition is published.
func renderPositions(done []uint64) string {
	var b []byte
	for p, seq := range done {
		if p > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(p), 10)
		b = append(b, ':')
		b = strconv.AppendUint(b, seq, 10)
	}
	return string(b)
}
