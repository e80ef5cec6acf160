//go:build race

package decide_test

func init() { raceDetector = true }
