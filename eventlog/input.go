package eventlog

import (
	"crypto/sha256"
	"encoding/hex"
)

// NewInputID derives an input's id from what it is, so that registering it again is idempotent
// (Causes).
func NewInputID(source, kind, externalID string) InputID {
	h := sha256.New()
	for _, part := range []string{source, kind, externalID} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return InputID("in_" + hex.EncodeToString(h.Sum(nil)[:12]))
}
