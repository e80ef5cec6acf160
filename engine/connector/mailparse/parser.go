package mailparse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"sync"
	"time"

	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

const (
	// atOnce is how many mails are taken apart at the same time.
	atOnce = 2
	// maxMails is how many mails one process takes apart: then another takes its place.
	maxMails = 1000
	// keepIdle is how long a process waits for another mail.
	keepIdle = 30 * time.Second
)

// Config of a Parser.
type Config struct {
	// Command makes the command of a process that takes mails apart: a program that calls Serve with its
	// standard input and output. Its streams, environment and process attributes are overwritten. Required.
	Command func() *exec.Cmd
	// Logger hears, once, of processes that are not fully confined; nil means slog.Default().
	Logger *slog.Logger
}

// Parser has mails taken apart by processes of their own. They are started when they are needed.
type Parser struct {
	config Config
	slots  chan struct{} // a token for each mail that is being taken apart

	mu     sync.Mutex
	idle   []*process // the most recently used last
	closed bool
	warned bool
	reaper *time.Timer
}

// New makes a Parser; it starts nothing yet.
func New(config Config) (*Parser, error) {
	if config.Command == nil {
		return nil, errors.New("make a mail parser: no command of its processes is given")
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	p := &Parser{config: config, slots: make(chan struct{}, atOnce)}
	p.reaper = time.AfterFunc(time.Hour, p.reap)
	p.reaper.Stop()
	return p, nil
}

// Source is a mail where it lies.
type Source struct {
	Content io.ReaderAt
	// Size is how many bytes it has.
	Size int64
}

// Head reads a mail's headers. Malformed says that they, or the mail as a whole, cannot be used. An error
// says nothing about the mail: its bytes could not be read, no process could be started, or ctx has ended.
func (p *Parser) Head(ctx context.Context, mail Source) (Head, error) {
	m, err := p.parse(ctx, mail, question{})
	return m.Head, err
}

// Parse takes a mail apart and returns, besides, the headers that are named. Malformed says that the mail,
// or a part of it, cannot be used. An error says nothing about the mail.
func (p *Parser) Parse(ctx context.Context, mail Source, headers []string) (Mail, error) {
	return p.parse(ctx, mail, question{Whole: true, Headers: headers})
}

// Headers reads the headers of a mail whose content ends with them, or somewhere in them, and looks at nothing else.
// Text, HTML and Attachments of the Mail are empty; it has the headers that are named.
func (p *Parser) Headers(ctx context.Context, mail Source, headers []string) (Mail, error) {
	return p.parse(ctx, mail, question{HeadersOnly: true, Headers: headers})
}

func (p *Parser) parse(ctx context.Context, mail Source, q question) (m Mail, err error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return m, ctx.Err()
	}
	for {
		w, err := p.take()
		if err != nil {
			return m, err
		}
		fresh := w.mails == 0
		head, m, err := p.ask(ctx, w, mail, q)
		switch {
		case err == nil:
			m.Size = mail.Size
			return m, nil
		case ctx.Err() != nil:
			return Mail{}, ctx.Err()
		case errors.Is(err, errContent):
			return Mail{}, err
		}
		reason, known := w.death(q, mail.Size, err)
		switch {
		case !fresh && w.Cmd.ProcessState.ExitCode() != exitTime:
			// What an earlier mail has left behind may have had a part in it.
			continue
		case !known && !q.Frugal:
			// The system ends what takes more memory than there is. If that was it, and the mail takes much, it will
			// take too much again whenever it is tried, and no other mail would ever be listed.
			q.Frugal = true
			continue
		case !known:
			return Mail{}, fmt.Errorf("the process that takes mails apart ended: %s (%w)", w.Cmd.ProcessState, err)
		}
		m = Mail{Head: NewHead(""), Attachments: []Attachment{}}
		if head != nil {
			m.Head = *head
		}
		m.Spoil("%s", reason)
		m.Size = mail.Size
		return m, nil
	}
}

// ask has a mail taken apart by a process, which is kept if that went well, and gone if it did not.
func (p *Parser) ask(ctx context.Context, w *process, mail Source, q question) (*Head, Mail, error) {
	stop := context.AfterFunc(ctx, w.Kill)
	head, m, err := w.parse(q, io.NewSectionReader(mail.Content, 0, min(mail.Size, MaxSize+1)))
	if !stop() || err != nil {
		w.End()
		return head, m, errors.Join(err, ctx.Err())
	}
	p.put(w)
	return head, m, nil
}

var errClosed = errors.New("the mail parser is closed")

// take returns a process that waits, or a new one.
func (p *Parser) take() (*process, error) {
	p.mu.Lock()
	closed := p.closed
	var waiting *process
	if last := len(p.idle) - 1; last >= 0 {
		waiting, p.idle = p.idle[last], p.idle[:last]
	}
	p.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case waiting != nil:
		return waiting, nil
	}
	cmd := p.config.Command()
	cmd.SysProcAttr = processAttributes()
	w, err := start(cmd)
	if err != nil {
		return nil, fmt.Errorf("start a process that takes mails apart: %w", err)
	}
	p.mu.Lock()
	warned := p.warned
	p.warned = true
	p.mu.Unlock()
	if report := w.ready.Report; report.Level != confine.Full && !warned {
		p.config.Logger.Warn("mails are taken apart in processes that are not fully confined", "sandbox",
			report.String())
	}
	return w, nil
}

// put keeps a process for the next mail.
func (p *Parser) put(w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || w.mails >= maxMails {
		w.End()
		return
	}
	w.idle = time.Now()
	p.idle = append(p.idle, w)
	p.reaper.Reset(keepIdle)
}

// reap ends processes that have been idle for keepIdle.
func (p *Parser) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 && time.Since(p.idle[0].idle) >= keepIdle {
		p.idle[0].End()
		p.idle = p.idle[1:]
	}
	if len(p.idle) > 0 {
		p.reaper.Reset(keepIdle)
	}
}

// Close ends the processes that wait; one that is busy ends with its mail.
func (p *Parser) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.reaper.Stop()
	for _, w := range p.idle {
		w.End()
	}
	p.idle = nil
	return nil
}
