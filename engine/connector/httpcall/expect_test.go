package httpcall_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// A status that the script expects is a result, and every other one stays what it is.
func TestExpectedStatusesAreResults(t *testing.T) {
	t.Parallel()
	status := 0
	_, address := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/other")
		w.WriteHeader(status)
		if status != http.StatusNotModified {
			io.WriteString(w, "so be it")
		}
	})
	r := client(t, address, nil)
	params := object{"url": "http://" + address + "/", "expect": []int{302, 404, 409}}
	for _, status = range []int{302, 404, 409} {
		raw, err := r.Read(t.Context(), mutation("get", params))
		if err != nil || decode(t, raw).Status != status || string(decode(t, raw).Body) != `"so be it"` {
			t.Errorf("get %d: %v %s", status, err, raw)
		}
		out := r.Perform(t.Context(), mutation("delete", params))
		if out.Status != connector.Applied || decode(t, out.Result).Status != status {
			t.Errorf("delete %d: %+v %s", status, out.Failure, out.Result)
		}
	}
	status = 410
	_, err := r.Read(t.Context(), mutation("get", params))
	if f := failureOf(t, err); f.Class != eventlog.Precondition {
		t.Errorf("%+v", f)
	}
	wantOutcome(t, r.Perform(t.Context(), mutation("delete", params)), connector.Failed, eventlog.Precondition,
		"http.status")
	status = 307
	wantOutcome(t, r.Perform(t.Context(), mutation("delete", params)), connector.Uncertain, eventlog.Logic,
		"http.redirect")
}

// No script may call a mutation applied after an answer that leaves it open, or asks to come again.
func TestStatusesThatNoMutationMayExpect(t *testing.T) {
	t.Parallel()
	_, address := server(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	r := client(t, address, nil)
	for _, status := range []int{0, 100, 200, 408, 425, 429, 500, 503} {
		out := r.Perform(t.Context(), mutation("post", object{"url": "http://" + address + "/", "expect": []int{status}}))
		if out.Status != connector.Failed || out.Failure.Code != connector.CodeParams {
			t.Errorf("%d: %+v", status, out)
		}
	}
}

// An expected answer that breaks off leaves a mutation as open as any other answer that does.
func TestAnExpectedAnswerThatBreaksOff(t *testing.T) {
	t.Parallel()
	_, address := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(404)
		io.WriteString(w, "half")
	})
	r := client(t, address, nil)
	params := object{"url": "http://" + address + "/", "expect": []int{404}}
	wantOutcome(t, r.Perform(t.Context(), mutation("delete", params)), connector.Uncertain, eventlog.Transient,
		"http.answer")
	_, err := r.Read(t.Context(), mutation("get", params))
	if f := failureOf(t, err); f.Code != "http.answer" {
		t.Errorf("%+v", f)
	}
}

// An ETag travels back: a read that names it gets 304 as a result, and a change is made only to what it names.
func TestETags(t *testing.T) {
	t.Parallel()
	const tag = `W/"7"`
	_, address := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tag)
		switch {
		case r.Header.Get("If-None-Match") == tag:
			w.WriteHeader(http.StatusNotModified)
		case r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != tag:
			w.WriteHeader(http.StatusPreconditionFailed)
		default:
			io.WriteString(w, "new")
		}
	})
	r := client(t, address, nil)
	here := "http://" + address + "/"
	raw, err := r.Read(t.Context(), mutation("get", object{"url": here, "ifNoneMatch": "old"}))
	if err != nil || decode(t, raw).Status != 200 || decode(t, raw).Headers["etag"] != tag {
		t.Fatalf("%v %s", err, raw)
	}
	raw, err = r.Read(t.Context(), mutation("get", object{"url": here, "ifNoneMatch": tag}))
	if err != nil || decode(t, raw).Status != 304 || string(decode(t, raw).Body) != "null" {
		t.Errorf("%v %s", err, raw)
	}
	wantOutcome(t, r.Perform(t.Context(), mutation("put", object{"url": here, "ifMatch": tag})), connector.Applied, "", "")
	wantOutcome(t, r.Perform(t.Context(), mutation("put", object{"url": here, "ifMatch": `"6"`})), connector.Failed,
		eventlog.Precondition, "http.status")
	for name, params := range map[string]object{
		"given twice": {"url": here, "ifMatch": tag, "headers": object{"if-match": tag}},
		"no header":   {"url": here, "ifMatch": "a\nb"},
		"empty":       {"url": here, "ifMatch": ""},
		"no text":     {"url": here, "ifNoneMatch": 7},
	} {
		if out := r.Perform(t.Context(), mutation("put", params)); out.Status != connector.Failed ||
			out.Failure.Class != eventlog.Logic {
			t.Errorf("%s: %+v", name, out)
		}
	}
}
