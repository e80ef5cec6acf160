package httpcall

import (
	"strings"

	"github.com/pawl-run/pawl/engine/connector/redact"
)

// secretsIn lists what of a header's value is taken for a secret although it stands in the
// configuration itself: by the header's name, in case a secret was written there directly.
func secretsIn(header, value string) []string {
	lower := strings.ToLower(header)
	for _, part := range []string{"auth", "cookie", "key", "token", "secret", "password", "credential"} {
		if !strings.Contains(lower, part) {
			continue
		}
		return redact.Parts(value)
	}
	return nil
}
