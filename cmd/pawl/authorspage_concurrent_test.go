package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// delivery is what the page's concurrent workflow is pushed.
func delivery(customer int, text, showAt string) map[string]any {
	return map[string]any{"customer": map[string]any{"id": customer, "name": "Customer " + string(rune('0'+customer))},
		"text": text, "showAt": showAt}
}

// The page's concurrent workflow does with each event what the page says: the rate, the order of a key, an event that
// is put off, one that is dropped, and one that is held while the others go on, until a new version frees it.
func TestAuthorsPageConcurrent(t *testing.T) {
	refuse := true
	r := cookPart(t, pagePartOf(t, "Serial or concurrent?"), func(w http.ResponseWriter, _, _, body string) bool {
		if refuse && strings.Contains(body, "bad") {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return true
		}
		return false
	}).ready()
	told := func(text string) string { return `POST /hooks/team {"text":"` + text + `"}` }

	r.push("hook.received", "1", delivery(1, "first", ""))
	r.push("hook.received", "2", delivery(2, "second", ""))
	r.wantReceived(told("Customer 1: first")) // 10/s: the clock stands still
	r.advance("99ms")
	r.wantReceived()
	r.advance("1ms")
	r.wantReceived(told("Customer 2: second"))

	r.push("hook.received", "none", delivery(3, "", ""))
	r.push("hook.received", "later", delivery(4, "later", "2026-03-01T07:00:00Z"))
	r.push("hook.received", "bad", delivery(1, "bad", ""))
	r.push("hook.received", "behind", delivery(1, "behind", ""))
	r.push("hook.received", "beside", delivery(2, "beside", ""))
	r.advance("1s")
	got := r.outside.takeReceived()
	if want := []string{told("Customer 1: bad"), told("Customer 2: beside")}; !slices.Equal(got, want) {
		t.Errorf("received %q, want %q\n%s", got, want, r.text())
	}
	r.wantEvents("hook.received", "1 consumed", "2 consumed", "none skipped", "later pending", "bad pending",
		"behind pending", "beside consumed")
	r.advance("58m")
	r.wantReceived()
	r.advance("2m")
	r.wantReceived(told("Customer 4: later"))

	r.outside.mu.Lock()
	refuse = false
	r.outside.mu.Unlock()
	r.does("sed -i.before 's/Tell the chat about/Tell the chat/' hooks.ts")
	r.await(`hooks is now 2\.0`)
	r.advance("1s")
	r.wantReceived(told("Customer 1: bad"), told("Customer 1: behind"))
	r.wantEvents("hook.received", "1 consumed", "2 consumed", "none skipped", "later consumed", "bad consumed",
		"behind consumed", "beside consumed")
}

// The page's workflow gives an event up after five refusals of any kind, with longer waits from try to try. Others go
// on.
func TestAuthorsPageRefusals(t *testing.T) {
	answers := []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusNotFound, http.StatusConflict,
		http.StatusGone}
	asked := 0
	r := cookPart(t, pagePartOf(t, "Count every refusal"), func(w http.ResponseWriter, _, _, body string) bool {
		if !strings.Contains(body, `"bad"`) {
			return false
		}
		w.WriteHeader(answers[min(asked, len(answers)-1)])
		asked++
		return true
	}).ready()
	bad := `POST /labels {"parcel":"bad"}`
	r.push("parcel", "1", map[string]any{"parcel": "bad"})
	r.wantReceived(bad)
	for _, wait := range []string{"61s", "121s", "241s", "481s"} {
		r.advance(wait)
		r.wantReceived(bad)
	}
	r.advance("24h")
	r.wantReceived()
	r.push("parcel", "2", map[string]any{"parcel": "good"})
	r.wantReceived(`POST /labels {"parcel":"good"}`)
	r.advance("1s")
	r.wantEvents("label.problem", "1/5 pending")
	r.wantEvents("parcel", "1 consumed", "1/1 consumed", "1/2 consumed", "1/3 consumed", "1/4 consumed", "2 consumed")
	r.push("parcel", "3", map[string]any{"parcel": "bad"}) // once more
	r.advance("24h")
	r.wantEvents("label.problem", "1/5 pending", "3/5 pending")
}
