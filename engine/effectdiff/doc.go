// Package effectdiff says what another script would have done differently: it runs both scripts on what past runs were
// given (package recording). It compares the calls that mutate names, the events that prepare reserves and cancels, and
// what next and producers publish, register and return.
//
// Guaranteed: nothing is sent. A read is answered as it was answered then. A read that was not made then ends the
// comparison of that run, and is named. Both scripts see the same time, the same state and the same chance.
//
// Each next is given what its own prepare returned, and the answer that the call of the run got. Where a script names a
// call of another operation, no answer is known, and its next is not run: NotCompared names it, as it names handlers
// without a recorded run. What a producer does where it has published nothing is not recorded.
//
// Not guaranteed: what would have followed. Each run is compared by itself: what the other script would have
// remembered, published or reserved before that run is not known.
package effectdiff
