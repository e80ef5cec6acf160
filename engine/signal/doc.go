// Package signal has the ways in which the parts of an engine wait for each other: a bell that wakes one runner, a
// change that any number of callers wait for, and a count of what is under way.
package signal
