package mailparse

import (
	"fmt"
	"time"
)

// Bounds of a mail that is taken apart.
const (
	// MaxSize is the biggest mail, in bytes.
	MaxSize = 32 << 20
	// maxParts bounds the parts of a mail.
	maxParts = 1000
	// maxDepth bounds how deep multiparts are nested: each level is another pass over the bytes in it.
	maxDepth = 32
	// maxPartHeader bounds the headers of one part, in bytes.
	maxPartHeader = 256 << 10
	// maxPartField bounds one of them, and those of the whole mail that say what it is made of, in bytes.
	maxPartField = 16 << 10
	// maxFormatting bounds how many elements that format text are open at once in HTML. A reader opens
	// all of them again in each paragraph, so a small mail with many grows to gigabytes in a tree.
	maxFormatting = 100
)

// Bounds of what is returned of a mail.
const (
	// maxText is how much of a text is returned, in bytes as JSON.
	maxText = 256 << 10
	// maxAttachments bounds how many attachments are described.
	maxAttachments = 200
	// attachmentRoom bounds their names together, in bytes as JSON.
	attachmentRoom = 96 << 10
	// headerRoom bounds the headers that were asked for together, in bytes as JSON.
	headerRoom = 64 << 10
	// maxError bounds what is said about a malformed mail, in bytes.
	maxError = 300
	// maxExcerpt bounds what is quoted from it.
	maxExcerpt = 60
)

// Bounds of the process that takes a mail apart.
const (
	// MaxMemory is what it may hold, in bytes.
	MaxMemory = 512 << 20
	// frugalMemory is what it may hold where the system has ended a process that might hold MaxMemory: the machine may
	// not have so much.
	frugalMemory = 128 << 20
	// cpuPerMail and cpuPerMiB are the processor time that a mail may take: together many times what a
	// good one of that size does.
	cpuPerMail = 3 * time.Second
	cpuPerMiB  = 250 * time.Millisecond
)

// cpuLimit is the processor time that a mail of so many bytes may take.
func cpuLimit(size int) time.Duration {
	return (cpuPerMail + time.Duration(size)*cpuPerMiB>>20).Round(100 * time.Millisecond)
}

// Head is what a mail's headers say.
type Head struct {
	ID        string `json:"id"`
	MessageID string `json:"messageId"`
	// From is the sender as shown, `Ann <ann@example.com>`; FromAddress is the bare address.
	From        string   `json:"from"`
	FromAddress string   `json:"fromAddress"`
	To          []string `json:"to"`
	Cc          []string `json:"cc"`
	Subject     string   `json:"subject"`
	// Date is RFC 3339, null if the mail has none that can be read.
	Date *string `json:"date"`
	Size int64   `json:"size"`
	// Truncated: something was longer than what is returned.
	Truncated bool `json:"truncated,omitempty"`
	// Malformed: the mail is not a usable mail; Error says why.
	Malformed bool   `json:"malformed,omitempty"`
	Error     string `json:"error,omitempty"`
}

// NewHead is a mail of which nothing is known yet.
func NewHead(id string) Head { return Head{ID: id, To: []string{}, Cc: []string{}} }

// Spoil marks the mail as malformed; the first reason stays. It may quote the mail.
func (h *Head) Spoil(format string, args ...any) {
	if !h.Malformed {
		h.Malformed, h.Error = true, excerpt(fmt.Sprintf(format, args...), maxError)
	}
}

// Mail is a whole mail.
type Mail struct {
	Head
	Text        string       `json:"text"`
	HTML        string       `json:"html"`
	Attachments []Attachment `json:"attachments"`
	// Headers are those asked for, by lower-case name.
	Headers map[string][]string `json:"headers,omitempty"`
}

// Attachment describes one; its content is not returned.
type Attachment struct {
	Filename    string `json:"filename"`
	ContentType string `json:"contentType"`
	Size        int    `json:"size"`
}
