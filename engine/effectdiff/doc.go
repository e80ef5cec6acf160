// Package effectdiff says what another script would have done otherwise: it runs prepare and mutate of both scripts on
// what past runs were given (package recording), and compares the calls that they name, and the events that prepare
// reserves and cancels.
//
// Guaranteed: nothing is sent. A read is answered as it was answered then. A read that was not made then ends the
// comparison of that run, and is named. Both scripts see the same time, the same state and the same chance.
//
// Not compared: next, which is not run, and producers; NotCompared names them.
//
// Not guaranteed: what would have followed. Each run is compared by itself: what the other script would have
// remembered, published or reserved before that run is not known.
package effectdiff
