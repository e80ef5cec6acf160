package worker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// A frame is a length (32 bits, little-endian) and that many bytes: a kind and the values of its
// message. A number is a varint, a text its length and its bytes, a list its length and its items; what
// a value is, its place says. Both ends are the same program, so there is no version beyond
// frameVersion.
const frameVersion = 10

// frameKind says what a frame holds.
type frameKind int

const (
	// Engine to worker.
	frameHello    frameKind = 1 // limits of the process; the answer is frameReady
	frameDescribe frameKind = 2
	frameCall     frameKind = 3
	frameAnswer   frameKind = 4 // to a read
	frameCancel   frameKind = 5

	// Worker to engine.
	frameReady     frameKind = 16
	frameDescribed frameKind = 17
	frameResult    frameKind = 18
	frameRead      frameKind = 19
	frameWaiting   frameKind = 20 // nothing to do before an answer to a read
	framePlace     frameKind = 21 // where a handler is written, before its first call in this process
	frameRecycle   frameKind = 22 // the answer follows, and then nothing: the process is not to be used again
	framePrepared  frameKind = 23 // the result of prepare, while mutate after it takes long
)

// packer builds one frame after another in the same memory.
type packer struct {
	buf []byte
	err error
}

func newPacker() *packer { return &packer{} }

// begin starts a frame; frames begun since the last reset are sent together.
func (p *packer) begin(kind frameKind) (start int) {
	start = len(p.buf)
	p.buf = append(p.buf, 0, 0, 0, 0)
	p.num(int64(kind))
	return start
}

// end fills in the frame's length.
func (p *packer) end(start int) {
	size := len(p.buf) - start - 4
	if p.err == nil && size > math.MaxUint32 {
		p.err = fmt.Errorf("pack a frame of %d bytes: too large", size)
		return
	}
	binary.LittleEndian.PutUint32(p.buf[start:], uint32(size))
}

// flush sends what was packed, in one write.
func (p *packer) flush(w io.Writer) error {
	defer p.reset()
	if p.err != nil || len(p.buf) == 0 {
		return p.err
	}
	_, err := w.Write(p.buf)
	return err
}

// maxKept bounds the memory that an idle packer holds on to.
const maxKept = 1 << 20

func (p *packer) reset() {
	p.err = nil
	if cap(p.buf) > maxKept {
		p.buf = nil
	}
	p.buf = p.buf[:0]
}

func (p *packer) num(n int64) { p.buf = binary.AppendVarint(p.buf, n) }
func (p *packer) list(n int)  { p.buf = binary.AppendUvarint(p.buf, uint64(n)) }

func (p *packer) flag(b bool) {
	if b {
		p.buf = append(p.buf, 1)
	} else {
		p.buf = append(p.buf, 0)
	}
}

func (p *packer) text(s string) {
	p.list(len(s))
	p.buf = append(p.buf, s...)
}

// bytes tells nil from empty.
func (p *packer) bytes(b []byte) {
	p.flag(b != nil)
	if b != nil {
		p.list(len(b))
		p.buf = append(p.buf, b...)
	}
}

func (p *packer) texts(ss []string) { packEach(p, ss, p.text) }

func packEach[T any](p *packer, items []T, pack func(T)) {
	p.list(len(items))
	for _, item := range items {
		pack(item)
	}
}

// errMalformed is the reason to trust a process no further.
var errMalformed = errors.New("malformed frame")

// unpacker reads values in the order in which they were packed. It allocates no more than the
// frame's bytes allow, and after the first mistake answers zero values; err keeps the mistake.
type unpacker struct {
	rest []byte
	err  error
}

func (u *unpacker) reset(body []byte) { u.rest, u.err = body, nil }

// fail ends the reading: no value has a place any more.
func (u *unpacker) fail(what string) {
	if u.err == nil {
		u.err = fmt.Errorf("%w: %s", errMalformed, what)
	}
	u.rest = nil
}

func (u *unpacker) num() int64 {
	n, size := binary.Varint(u.rest)
	if size <= 0 {
		u.fail("not a number")
		return 0
	}
	u.rest = u.rest[size:]
	return n
}

func (u *unpacker) flag() bool {
	if len(u.rest) == 0 || u.rest[0] > 1 {
		u.fail("not a flag")
		return false
	}
	b := u.rest[0] == 1
	u.rest = u.rest[1:]
	return b
}

// list is the length of a list; each of its items takes a byte at least.
func (u *unpacker) list() int {
	n, size := binary.Uvarint(u.rest)
	if size <= 0 {
		u.fail("not a length")
		return 0
	}
	if n > uint64(len(u.rest)-size) {
		u.fail(fmt.Sprintf("a length of %d", n))
		return 0
	}
	u.rest = u.rest[size:]
	return int(n)
}

func (u *unpacker) text() string {
	n := u.list()
	s := string(u.rest[:n])
	u.rest = u.rest[n:]
	return s
}

func (u *unpacker) bytes() []byte {
	if !u.flag() {
		return nil
	}
	n := u.list()
	if u.err != nil {
		return nil
	}
	b := append(make([]byte, 0, n), u.rest[:n]...)
	u.rest = u.rest[n:]
	return b
}

func (u *unpacker) texts() []string { return unpackEach(u, u.text) }

// unpackAtMost reads a list that may have most items. One byte can stand for an item of a hundred bytes of memory, so
// the length is refused before any item is made.
func unpackAtMost[T any](u *unpacker, most int, unpack func() T) []T {
	before := *u
	if n := u.list(); n > most {
		u.fail(fmt.Sprintf("a list of %d items, at most %d are allowed", n, most))
		return nil
	}
	*u = before
	return unpackEach(u, unpack)
}

func unpackEach[T any](u *unpacker, unpack func() T) []T {
	n := u.list()
	if n == 0 {
		return nil
	}
	items := make([]T, 0, min(n, 1024))
	for range n {
		if u.err != nil {
			return nil
		}
		items = append(items, unpack())
	}
	return items
}

// done is the error of the whole frame: bytes that are left over are a mistake too.
func (u *unpacker) done() error {
	if u.err == nil && len(u.rest) > 0 {
		u.err = fmt.Errorf("%w: %d bytes too many", errMalformed, len(u.rest))
	}
	return u.err
}

// frameReader reads frames from a pipe.
type frameReader struct {
	r    *bufio.Reader
	body []byte
	unpacker
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, 32<<10)}
}

// buffered is how many bytes have come that no frame has taken.
func (f *frameReader) buffered() int { return f.r.Buffered() }

// next reads one frame of at most limit bytes. Its bytes are undefined after the next call.
// io.EOF says that the other end is gone.
func (f *frameReader) next(limit int) (frameKind, error) {
	var head [4]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return 0, err
	}
	size := int64(binary.LittleEndian.Uint32(head[:]))
	if size > int64(limit) {
		return 0, fmt.Errorf("%w: it has %d bytes, at most %d are allowed", errMalformed, size, limit)
	}
	if int64(cap(f.body)) < size || cap(f.body) > maxKept && size < maxKept {
		f.body = make([]byte, size)
	}
	f.body = f.body[:size]
	if _, err := io.ReadFull(f.r, f.body); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, err
	}
	f.reset(f.body)
	kind := frameKind(f.num())
	return kind, f.err
}
