package sandbox

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/vmihailenco/msgpack/v5"
)

// A frame is a length (32 bits, little-endian) and that many bytes: a kind and the values of its
// message, in msgpack. Both ends are the same program, so there is no version beyond frameVersion.
const frameVersion = 1

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
)

// packer builds one frame after another in the same memory.
type packer struct {
	buf bytes.Buffer
	enc *msgpack.Encoder
	err error
}

func newPacker() *packer {
	p := &packer{}
	p.enc = msgpack.NewEncoder(&p.buf)
	return p
}

// begin starts a frame; frames begun since the last reset are sent together.
func (p *packer) begin(kind frameKind) (start int) {
	start = p.buf.Len()
	p.buf.Write([]byte{0, 0, 0, 0})
	p.num(int64(kind))
	return start
}

// end fills in the frame's length.
func (p *packer) end(start int) {
	size := p.buf.Len() - start - 4
	if p.err == nil && size > math.MaxUint32 {
		p.err = fmt.Errorf("pack a frame of %d bytes: too large", size)
		return
	}
	binary.LittleEndian.PutUint32(p.buf.Bytes()[start:], uint32(size))
}

// flush sends what was packed, in one write.
func (p *packer) flush(w io.Writer) error {
	defer p.reset()
	if p.err != nil {
		return p.err
	}
	_, err := w.Write(p.buf.Bytes())
	return err
}

// maxKept bounds the memory that an idle packer holds on to.
const maxKept = 1 << 20

func (p *packer) reset() {
	p.err = nil
	if p.buf.Cap() > maxKept {
		p.buf = bytes.Buffer{}
		p.enc.Reset(&p.buf)
		return
	}
	p.buf.Reset()
}

func (p *packer) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *packer) num(n int64)       { p.keep(p.enc.EncodeInt(n)) }
func (p *packer) flag(b bool)       { p.keep(p.enc.EncodeBool(b)) }
func (p *packer) text(s string)     { p.keep(p.enc.EncodeString(s)) }
func (p *packer) bytes(b []byte)    { p.keep(p.enc.EncodeBytes(b)) } // nil stays nil
func (p *packer) list(n int)        { p.keep(p.enc.EncodeArrayLen(n)) }
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
	body bytes.Reader
	dec  *msgpack.Decoder
	err  error
}

func (u *unpacker) reset(body []byte) {
	u.body.Reset(body)
	if u.dec == nil {
		u.dec = msgpack.NewDecoder(&u.body)
	} else {
		u.dec.Reset(&u.body)
	}
	u.err = nil
}

func take[T any](u *unpacker, decode func() (T, error)) T {
	var zero T
	if u.err != nil {
		return zero
	}
	v, err := decode()
	if err != nil {
		u.err = fmt.Errorf("%w: %w", errMalformed, err)
		return zero
	}
	return v
}

func (u *unpacker) num() int64    { return take(u, u.dec.DecodeInt64) }
func (u *unpacker) flag() bool    { return take(u, u.dec.DecodeBool) }
func (u *unpacker) text() string  { return take(u, u.dec.DecodeString) }
func (u *unpacker) bytes() []byte { return take(u, u.dec.DecodeBytes) }

// list is the length of a list; each of its items takes a byte at least.
func (u *unpacker) list() int {
	n := take(u, u.dec.DecodeArrayLen)
	if n < 0 || n > u.body.Len() {
		if u.err == nil {
			u.err = fmt.Errorf("%w: a list of %d", errMalformed, n)
		}
		return 0
	}
	return n
}

func (u *unpacker) texts() []string { return unpackEach(u, u.text) }

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

// done is the error of the whole frame: also bytes that nobody asked for are a mistake.
func (u *unpacker) done() error {
	if u.err == nil && u.body.Len() > 0 {
		u.err = fmt.Errorf("%w: %d bytes too many", errMalformed, u.body.Len())
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

// next reads one frame of at most limit bytes. What its bytes are is undefined after the next call.
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
