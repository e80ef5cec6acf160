// Package lifecycle holds no code: its tests live through the whole life of workflows, runs, jobs
// and mutations, from the outside.
//
// Each test deploys a script over HTTP to an engine on a real embedded NATS server with a manual
// clock, lets a scripted world fail in one way, and looks at what the interface then says: the run,
// its events and jobs, the mutation, the workflow, `why`. At its end every test has the whole log
// verified, finds no orphaned reservation, and finds that no call was sent twice.
//
// What these tests do not show: real connectors, script workers in processes of their own, several
// engines, or faults of the broker. A crash here is an engine whose log stops answering; the
// process goes on. Kills of a real process are tested in cmd/pawl.
package lifecycle
