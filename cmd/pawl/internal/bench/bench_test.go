package bench

import (
	"errors"
	"math"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// TestWhatCannotBeMeasured: a number that makes no measurement is a mistake of the command line. It is said before
// anything is started.
func TestWhatCannotBeMeasured(t *testing.T) {
	t.Parallel()
	for flag, c := range map[string]Bench{
		"in-flight 0":                {InFlight: []int{1, 0}, Seconds: 1},
		"in-flight -3":               {InFlight: []int{-3}, Seconds: 1},
		"in-flight 1001":             {InFlight: []int{1001}, Seconds: 1},
		"one-workflow -1":            {OneWorkflow: -1, Seconds: 1},
		"one-workflow 257":           {OneWorkflow: 257, Seconds: 1},
		"seconds 0":                  {InFlight: []int{1}},
		"seconds -1":                 {InFlight: []int{1}, Seconds: -1},
		"seconds NaN":                {InFlight: []int{1}, Seconds: math.NaN()},
		"seconds +Inf":               {InFlight: []int{1}, Seconds: math.Inf(1)},
		"in-flight without a number": {Seconds: 1},
		"seconds 1e-12":              {InFlight: []int{1}, Seconds: 1e-12},
		"rate 1e-09":                 {InFlight: []int{1}, Seconds: 1, Rate: 1e-9},
		"rate -5":                    {InFlight: []int{1}, Seconds: 1, Rate: -5},
		"rate NaN":                   {InFlight: []int{1}, Seconds: 1, Rate: math.NaN()},
	} {
		failure, ok := errors.AsType[*exit.Failure](c.check())
		if !ok || failure.Code != exit.CodeUsage || failure.What != "--"+flag+" cannot be measured" || failure.Hint == "" {
			t.Errorf("%s: %+v", flag, failure)
		}
	}
	if err := (&Bench{InFlight: []int{1, 1000}, OneWorkflow: 256, Seconds: 0.5, Rate: 10}).check(); err != nil {
		t.Error(err)
	}
}
