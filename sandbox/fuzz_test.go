package sandbox

import (
	"errors"
	"testing"
	"time"

	"github.com/nlnwa/whatwg-url/url"
)

// FuzzScript: no text makes the executor panic, report a fault of its own, or stop answering.
func FuzzScript(f *testing.F) {
	f.Add(string(exampleSource(f).Code))
	for _, p := range []Phase{Producer, Prepare, Mutate, Next} {
		f.Add(handlerSource(p, `try { await ctx.mail.search({}) } catch (e) { throw e }`).Code)
		f.Add(handlerSource(p, `const { mail: { send } } = ctx; for (const x of [1]) await send({ get x() { return x } }); /\p{L}/u.test("a"); class A { #x = 1 }`).Code)
	}
	e := NewInProcess(Config{Scripts: 4, Limits: Limits{CPU: 100 * time.Millisecond}})
	f.Fuzz(func(t *testing.T, code string) {
		if len(code) > 4000 {
			return
		}
		source := Source{Filename: "fuzz.ts", Code: code}
		d, problems, err := e.Describe(t.Context(), source)
		if err != nil {
			t.Fatalf("describe: %v", err)
		}
		for _, p := range problems {
			if p.Message == "" || p.Fix == "" {
				t.Errorf("incomplete problem %+v", p)
			}
		}
		for _, c := range d.Consumers {
			for _, phase := range []Phase{Prepare, Mutate, Next} {
				call := invocationOf(phase, "")
				call.Source, call.Handler, call.Limits.CPU = source, c.Name, 100*time.Millisecond
				_, err := e.Invoke(t.Context(), call, world)
				var fault *Error
				if err != nil && (!errors.As(err, &fault) || fault.Fault == FaultInternal || fault.Code == "" || fault.Message == "") {
					t.Errorf("%s: %v", phase, err)
				}
			}
		}
	})
}

// FuzzAddress: no text and no change of it makes the reading of addresses panic.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{"http://u:p@h:80/a/../b?q#f", "file:///C:/x", "mailto:a@b", "http://[::1%]", "//x", "a:\ufffd", "http://0x7f.1/%zz", "blob:http://x/"} {
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
