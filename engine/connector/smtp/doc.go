// Package smtp is the `smtp` connector: it hands mails to one configured server.
//
// What it guarantees:
//
//   - One call hands over at most one mail, on a connection of its own. The mail is handed over with the line that ends
//     it; a server delivers nothing before that line. So a failure before that line is definite. After it, the
//     outcome is uncertain unless the server answers.
//   - Nothing is handed over after the deadline of the call, or after the engine has lost the right to send: both are
//     looked at immediately before that line, and a write that hangs is ended at the deadline.
//   - A mail that has been handed over is listened to for longer (5 minutes after its deadline), so that a late
//     answer can still settle it.
//   - The Message-ID is made of the idempotency key: the mails of one call are known by it, to a person who
//     looks for a mail whose outcome is uncertain, and to servers that drop a mail that they have had before.
//   - What a script gives cannot become a line of the protocol or another header: addresses are written anew from their
//     parts, header values have no control characters, and each line of the finished mail is checked.
//   - A password goes over an encrypted connection, or over loopback, and is blanked out of every answer, as
//     is each value that was filled in from outside the configuration.
//   - Ten calls at once have a connection. More calls wait, and one that gets none in time was not sent, which is no
//     failure of the server. A connection that is only listened to is not counted.
//
// How an answer is read. 4xx is a definite failure, transient. 5xx is definite too: 530, 534, 535 and 538 auth; another
// 5.7.x permission; 500 to 504, 552 and 555 logic, as what was sent is wrong (552 with 5.2.2 is a full mailbox and is
// not); the rest, such as an unknown recipient (550), precondition. As the answer to a complete mail, 421 is uncertain:
// a server that shuts down says it whatever it was asked. A mail goes to all of its recipients or to none: one that
// is refused fails the call.
//
// Not guaranteed: that a mail which the server has taken is delivered. A server cannot be asked what became of a mail,
// so there is no reconcile: where the outcome is uncertain a person decides.
package smtp
