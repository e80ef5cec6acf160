package console

import (
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
)

// Spark is a chart of one line's height.
type Spark struct {
	Label string
	Bars  []Bar
}

// Bar is an hour of a Spark in which something happened, in a picture of 96 by 20.
type Bar struct{ X, Y, H, Tone string }

// Spark draws the inputs and the failures.
func (c Chart) Spark() Spark {
	s := Spark{Label: fmt.Sprintf("%s in and %s in 24 hours", eventlog.Count(c.Sum.Arrived, "input"),
		eventlog.Count(c.Sum.Failed, "failure"))}
	hours := make([]Tally, 24)
	most := 1
	for i, t := range c.Slots {
		hour := &hours[i*len(hours)/len(c.Slots)]
		hour.add(t)
		most = max(most, hour.Arrived+hour.Done+hour.Failed)
	}
	for i, t := range hours {
		sum := t.Arrived + t.Done + t.Failed
		if sum == 0 {
			continue
		}
		height := 2 + 18*float64(sum)/float64(most)
		b := Bar{X: fmt.Sprint(4 * i), Y: fmt.Sprintf("%.1f", 20-height), H: fmt.Sprintf("%.1f", height)}
		if t.Failed > 0 {
			b.Tone = "bad"
		}
		s.Bars = append(s.Bars, b)
	}
	return s
}
