package decide

import (
	"reflect"
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// TestF13_NoFactKeepsTheWish: when to come again is an argument of a decision. A fact that kept it in
// memory would fold to another state than its replay.
func TestF13_NoFactKeepsTheWish(t *testing.T) {
	failures := 0
	for _, typ := range eventlog.FactTypes() {
		fact := eventlog.NewFact(typ)
		v := reflect.ValueOf(fact).Elem()
		for i := range v.NumField() {
			wish := eventlog.Failure{Code: "busy", RetryAfter: time.Minute}
			switch field := v.Field(i); field.Interface().(type) {
			case eventlog.Failure:
				field.Set(reflect.ValueOf(wish))
			case *eventlog.Failure:
				field.Set(reflect.ValueOf(&wish))
			default:
				continue
			}
			failures++
			dropRetryAfter(fact)
			kept := reflect.Indirect(v.Field(i)).Interface().(eventlog.Failure)
			if kept.RetryAfter != 0 || kept.Code != "busy" {
				t.Errorf("%s keeps %+v", typ, kept)
			}
			if v.Field(i).Kind() == reflect.Pointer && wish.RetryAfter == 0 {
				t.Errorf("%s: the command's own failure was changed", typ)
			}
		}
	}
	if failures < 5 {
		t.Errorf("%d facts with a failure were found, want at least 5", failures)
	}
}
