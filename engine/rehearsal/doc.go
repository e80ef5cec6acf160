// Package rehearsal runs the tests that stand beside a script, without an engine process: each case has an engine of
// its own, on a log in memory, whose clock stands still until the case moves it.
//
// Guaranteed:
//
//   - The script runs in the executor that it is given, is checked as a deploy checks it, and every rule is that of the
//     engine: nothing is simulated but the log's disk, the clock and the outside.
//   - A test file is a script like any other: it runs in the executor, and only declares what is to be done. One in
//     YAML is read as the script that says the same.
//   - Nothing leaves. A read without an answer fails the case, and so does a call that the case does not expect.
//   - A call is refused, and a written answer judged, by the connector that it is for; what became of a call is found
//     out only where that connector can ask. What only the outside shows, such as a link in a folder, is not seen.
//   - The same case has the same outcome each time: chance, ids and times follow from the case.
//
// Four things differ from production. A producer with an interval does not run at the deploy but when its time comes,
// or when it is polled. What is pushed waits until a step lets the workflow run, so that several events can be there at
// once. The time of a handler stands still while it runs. Runs of concurrent consumers go on one after the other.
package rehearsal
