// Package ids makes the ids of transitions, runs and sessions: ULIDs that sort by the time of their making.
package ids
