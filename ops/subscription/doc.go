// Package subscription delivers what a stream holds, such as the facts of the feed, to other systems as webhooks.
//
// Guaranteed, for each subscription:
//   - Every message that it chooses is posted until the receiver has accepted it, at least once, however often the
//     engine is killed. The same message has the same webhook-id each time.
//   - Messages of one workflow are accepted in the order of the stream: the next one leaves after the one before was
//     accepted. Others go on beside one that is tried again, up to 64 messages further; then they wait too.
//   - After 24 hours of failed attempts, or when the receiver answers 410, it is parked: nothing is sent, also after a
//     restart, until a person resumes it, and then it goes on with the message at which it was parked.
//   - Where the stream was made again, or the log has lost its end, it goes on with what is recorded instead; some of
//     what was delivered comes once more.
//   - What the stream drops before it was delivered is announced by a message of its own, in its place.
//
// The position is one message in a stream of its own (position.go). An acknowledgement of a JetStream consumer would be
// less: the server moves it past what the stream drops without a word, and readers of a stream may acknowledge for any
// consumer whose name they know. It is kept once a second, so a killed engine repeats what it has delivered in the last
// one.
//
// Not guaranteed: that the receiver is sent a message once. A receiver that passes over a webhook-id that it knows has
// each message once. That two engines do not deliver at once: a data directory has one.
package subscription
