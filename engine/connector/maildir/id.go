package maildir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An id has to survive as an event's messageId: valid Unicode without control characters, not blank,
// bounded. A file name is any bytes. What a name has too much of is escaped with the one character
// that no file name has: `/` and two hexadecimal digits stand for one byte. So an escaped id is never
// the id of another file, and a name without such bytes is its own id.

const (
	// maxPlainID is the most bytes of an id that is the file's name.
	maxPlainID = 512
	// maxEscapedID is the most bytes of an escaped id; a longer one ends in a hash of the name.
	maxEscapedID = 255
	// hashed comes before that hash: an escaped NUL, which no file name has.
	hashed = "/00"
)

// idOf is the id of the mail in the file with this name: the same in every listing and process,
// whatever flags the mail has got, and different for every name.
func idOf(name string) string {
	name = withoutFlags(name)
	blank := strings.TrimSpace(name) == ""
	if !blank && len(name) <= maxPlainID && !strings.ContainsFunc(name, unfit) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	end := hashed + hex.EncodeToString(sum[:16])
	var id strings.Builder
	fits := 0 // how much of the id there is room for before a hash
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if piece := name[i : i+size]; blank || unfit(r) {
			for _, b := range []byte(piece) {
				fmt.Fprintf(&id, "/%02X", b)
			}
		} else {
			id.WriteString(piece)
		}
		i += size
		if id.Len()+len(end) <= maxEscapedID {
			fits = id.Len()
		}
	}
	if id.Len() > maxEscapedID {
		return id.String()[:fits] + end
	}
	return id.String()
}

// unfit says whether an id cannot hold the character: a control character, or what stands for bytes
// that are no character.
func unfit(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) }

// withoutFlags strips a Maildir's flags, which are letters: `:2,S`, or with the separators used where
// colons are not allowed. Anything else behind a separator is part of a name that a person gave.
func withoutFlags(name string) string {
	for _, separator := range []string{":2,", ";2,", "!2,"} {
		at := strings.LastIndex(name, separator)
		if at > 0 && strings.Trim(name[at+len(separator):], letters) == "" {
			return name[:at]
		}
	}
	return name
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// isID says whether text can be the id of a mail, or the name of its file. Names that begin with a
// dot are no mails, and a slash is only ever the beginning of an escaped byte.
func isID(text string) bool {
	if strings.HasPrefix(text, ".") || strings.ContainsRune(text, 0) {
		return false
	}
	for _, after := range strings.Split(text, "/")[1:] {
		if len(after) < 2 || strings.Trim(after[:2], "0123456789ABCDEF") != "" {
			return false
		}
	}
	return true
}
