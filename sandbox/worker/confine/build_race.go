//go:build race

package confine

// Race tells that this process carries the race detector, whose shadow memory no limit allows for.
const Race = true
