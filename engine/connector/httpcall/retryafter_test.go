package httpcall_test

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
)

// TestF13_RetryAfter: an answer that says when to come again is a failure that knows it, also where the outcome stays
// open, and nothing else is.
func TestF13_RetryAfter(t *testing.T) {
	const date = "Date: Fri, 31 Dec 1999 23:00:00 GMT\r\n" // the host's clock is another than ours
	for name, c := range map[string]struct {
		status int
		header string
		want   time.Duration
	}{
		"seconds":               {429, "Retry-After: 20\r\n", 20 * time.Second},
		"seconds, 503":          {503, "Retry-After: 20\r\n", 20 * time.Second}, // the mutation is uncertain
		"a moment":              {429, date + "Retry-After: Fri, 31 Dec 1999 23:05:00 GMT\r\n", 5 * time.Minute},
		"a moment in the past":  {429, date + "Retry-After: Fri, 31 Dec 1999 22:00:00 GMT\r\n", 0},
		"no wish":               {429, "", 0},
		"none":                  {429, "Retry-After: 0\r\n", 0},
		"negative":              {429, "Retry-After: -3\r\n", 0},
		"words":                 {429, "Retry-After: soon\r\n", 0},
		"more than an hour":     {429, "Retry-After: 86400\r\n", time.Hour},
		"more than any number":  {429, "Retry-After: 99999999999999999999999\r\n", time.Hour},
		"a moment far away":     {429, date + "Retry-After: Fri, 31 Dec 2099 23:00:00 GMT\r\n", time.Hour},
		"another server error":  {500, "Retry-After: 20\r\n", 0},
		"another client error":  {404, "Retry-After: 20\r\n", 0},
		"a redirect's own wish": {307, "Retry-After: 20\r\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, func(conn net.Conn, _ int, _ *http.Request) bool {
				_, err := fmt.Fprintf(conn, "HTTP/1.1 %d X\r\n%sContent-Length: 0\r\n\r\n", c.status, c.header)
				return err == nil
			})
			r := client(t, w.address, nil)
			params := map[string]any{"url": "http://" + w.address + "/"}
			_, err := r.Read(t.Context(), mutation("get", params))
			if got := failureOf(t, err).RetryAfter; got != c.want {
				t.Errorf("read: retry after %s, want %s", got, c.want)
			}
			out := r.Perform(t.Context(), mutation("post", params))
			if out.Status == connector.Applied || out.Failure.RetryAfter != c.want {
				t.Errorf("mutation: %d, retry after %s, want %s", out.Status, out.Failure.RetryAfter, c.want)
			}
		})
	}
}
