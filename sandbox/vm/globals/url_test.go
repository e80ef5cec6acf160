package globals

import (
	"testing"

	"github.com/nlnwa/whatwg-url/url"
)

// FuzzAddress: no text and no change of it makes the reading of addresses panic.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{"http://u:p@h:80/a/../b?q#f", "file:///C:/x", "mailto:a@b", "http://[::1%]", "//x",
		"a:\ufffd", "http://0x7f.1/%zz", "blob:http://x/"} {
		f.Add(text, "http://base/x", "pathname", "é")
		f.Add(text, "", "host", "[::1]:9")
	}
	f.Fuzz(func(t *testing.T, text, base, name, value string) {
		if len(text)+len(base)+len(value) > 1000 {
			return
		}
		u, err := url.Parse(text)
		if base != "" {
			u, err = url.ParseRef(base, text)
		}
		if err != nil {
			return
		}
		origin(u)
		setAddress(u, name, value)
	})
}
