package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// An address outlives an engine that was killed. Whatever answers there then is sent neither the token nor the
// question, whatever it says of itself.
func TestStrangersAreToldNothing(t *testing.T) {
	const breaksOff = "an answer that breaks off"
	for name, answer := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"too many": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		breaksOff:  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"the name of the data's log": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"ok":true,"installation":"01M"}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told atomic.Bool
			stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/healthz" && name != breaksOff || r.Header.Get("Authorization") != "" {
					told.Store(true)
				}
				answer(w, r)
			}))
			defer stranger.Close()
			data := t.TempDir()
			for file, text := range map[string]string{"http.url": stranger.URL, datadir.TokenFile: "pawl_" +
				strings.Repeat("A", 32)} {
				if err := os.WriteFile(filepath.Join(data, file), []byte(text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out, complaints bytes.Buffer
			code := program{}.run(t.Context(), []string{"push", "w", "t", "--id", "x", "{}", "--data", data},
				strings.NewReader(""), &out, &complaints,
				func(string) (string, bool) { return "", false })
			if code != exit.CodeUnreachable || told.Load() {
				t.Errorf("exit code %d, told: %v\n%s%s", code, told.Load(), out.String(), complaints.String())
			}
		})
	}
}
