package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Recipe 6: a reminder that is called off is not sent, whichever of the two comes first; a call-off that is too late
// ends alone.
func TestRecipeCalledOff(t *testing.T) {
	r := cook(t, 6, nil).ready()
	at := map[string]string{"at": "2026-03-01T06:10:00Z"}
	r.push("reminder", "a", at)
	r.push("reminder", "sent", at)
	r.push("reminder.off", "b", nil)
	r.wantEvents("reminder.off", "b pending")
	r.push("reminder.off", "a", nil)
	r.push("reminder", "b", at)
	r.wantEvents("reminder", "a consumed", "sent pending", "b consumed")
	r.advance("11m")
	r.wantReceived(`POST /hooks/team {"text":"reminder sent"}`)
	r.push("reminder.off", "sent", nil)
	r.wantEvents("reminder.off", "b consumed", "a consumed", "sent consumed")
	r.wantReceived()
}

// Recipe 12: each file is sent once and then moved away, also the second one of a name.
func TestRecipeFolder(t *testing.T) {
	r := cook(t, 12, nil).ready()
	put := func(text string, at time.Time) {
		t.Helper()
		path := filepath.Join(r.dir, "box", "out", "a.txt")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		r.advance("1m")
		r.wantReceived(`POST /letters {"name":"a.txt","text":"` + text + `"}`)
		r.advance("5m")
		r.wantReceived()
	}
	first := time.Date(2026, 2, 28, 10, 0, 0, 0, time.UTC)
	put("Dear Ann", first)
	put("Dear Bob", first.Add(time.Hour))
	var names []string
	for _, folder := range []string{"out", "sent"} {
		entries, err := os.ReadDir(filepath.Join(r.dir, "box", folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	if want := []string{"sub", "2026-02-28T10:00:00Z-a.txt", "2026-02-28T11:00:00Z-a.txt"}; !slices.Equal(names, want) {
		t.Errorf("the folders hold %q, want %q", names, want)
	}
}

// Recipe 13: what is not done yet is looked at again, and given up after its time, also while the other side is down.
func TestRecipeLookUntilDone(t *testing.T) {
	state := "queued"
	r := cook(t, 13, func(w http.ResponseWriter, method, _, _ string) bool {
		switch {
		case method == http.MethodPost:
			_, _ = w.Write([]byte(`{"job":"j1"}`))
		case state == "down":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			_, _ = w.Write([]byte(`{"state":"` + state + `"}`))
		}
		return true
	}).ready()
	set := func(to string) {
		r.outside.mu.Lock()
		defer r.outside.mu.Unlock()
		state = to
	}
	r.push("film.added", "f1", nil)
	r.wantReceived(`POST /conversions {"film":"f1"}`)
	r.advance("65s")
	r.outside.mu.Lock()
	if want := []string{"/conversions/j1", "/conversions/j1", "/conversions/j1"}; !slices.Equal(r.outside.asked, want) {
		t.Errorf("asked %q, want %q", r.outside.asked, want)
	}
	r.outside.mu.Unlock()
	set("ready")
	r.advance("35s")
	r.wantSheet("films.csv", "film,state", "f1,ready")
	set("down")
	r.push("film.added", "f2", nil)
	r.advance("25m")
	r.wantSheet("films.csv", "film,state", "f1,ready", "f2,late")
}

// Recipe 14: each guest is greeted once in 24 hours, also where visits are heard of late, and forgotten later.
func TestRecipeRememberForATime(t *testing.T) {
	r := cook(t, 14, nil).ready()
	seen := func(id, guest, at string) {
		t.Helper()
		r.push("guest.seen", id, map[string]string{"guest": guest, "at": at})
	}
	seen("1", "ann", "2026-03-01T06:00:00Z")
	seen("2", "bob", "2026-03-01T07:00:00Z")
	seen("3", "ann", "2026-03-01T20:00:00Z")
	r.wantReceived(`POST /greetings {"guest":"ann"}`, `POST /greetings {"guest":"bob"}`)
	r.advance("24h30m")
	seen("4", "ann", "2026-03-02T06:30:00Z")
	r.wantReceived(`POST /greetings {"guest":"ann"}`)
	seen("5", "bob", "2026-03-01T09:00:00Z") // which is heard of late, and lies within the day of the first
	r.wantReceived()
	r.advance("48h1m")
	seen("6", "eve", "2026-03-04T06:31:00Z")
	r.wantReceived(`POST /greetings {"guest":"eve"}`)
	if known := r.remembers("decide"); !strings.HasPrefix(known, `{"eve":{"at":"2026-03-04T06:31:00Z",`) {
		t.Errorf("eve alone is to be remembered: %s", known)
	}
}

// Recipe 15: nothing leaves at night, and no more than three a day.
func TestRecipeSoManyADay(t *testing.T) {
	r := cook(t, 15, nil).ready() // at seven in Berlin
	for _, id := range []string{"a", "b", "c", "d"} {
		r.push("offer.ready", id, id)
	}
	r.wantReceived()
	r.advance("59m")
	r.wantReceived()
	r.advance("17m")
	r.wantReceived(`POST /offers "a"`, `POST /offers "b"`, `POST /offers "c"`)
	r.advance("23h40m")
	r.wantReceived()
	r.advance("21m")
	r.wantReceived(`POST /offers "d"`)
	r.wantState("send", `{"day":"2026-03-02","sent":1}`)
}
