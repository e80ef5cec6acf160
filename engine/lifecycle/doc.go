// Package lifecycle holds no code: its tests live through the whole life of workflows, runs, jobs
// and mutations, from the outside.
//
// Each test deploys a script over HTTP to an engine on a real embedded NATS server with a manual
// clock, lets a scripted world fail in one way, and looks at what the interface then says: the run,
// its events and jobs, the mutation, the workflow, `why`. At its end every test has the whole log
// verified, finds no orphaned reservation, and finds that no call was sent twice.
//
// Scripts run in the process of the tests, but for the tests of what becomes of a run whose worker is
// killed or breaks its limits: those run them in real worker processes.
//
// What these tests do not show: real connectors, several engines, or faults of the broker. A crash
// here is an engine whose log stops answering; the process goes on. Kills of a real engine are tested
// in cmd/pawl.
package lifecycle
