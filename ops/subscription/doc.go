// Package subscription delivers what a stream holds, such as the facts of the feed, to other systems as webhooks.
//
// Guaranteed, for each subscription:
//   - Every message that it chooses is posted until the receiver has accepted it, at least once, however often the
//     engine is killed. The same message has the same webhook-id each time.
//   - Messages of one workflow are accepted in the order of the stream: the next one leaves after the one before was
//     accepted. Those of other workflows go on beside one that is tried again. They wait too once 64 messages are not
//     accepted, or 4096 were accepted behind it. The position stands before these, so a restart posts them again.
//   - After 24 hours of failed attempts, or when the receiver answers 410, it is parked: nothing is sent, also after a
//     restart, until a person resumes it. It then goes on with the message at which it was parked, or without that one
//     if the person says so.
//   - Where the stream was made again, or the log has lost its end, it goes on with what is recorded instead; some of
//     what was delivered comes once more.
//   - What the stream drops before it was delivered is announced by a message of its own, in its place.
//
// The position is one message in a stream of its own (position.go). The acknowledgements of a JetStream consumer would
// promise less: the server moves them past what the stream drops without a word, and every reader of a stream may
// acknowledge for any consumer whose name it knows. The position is kept once a second, so a killed engine repeats what
// it has delivered in its last second.
//
// Not guaranteed: that the receiver is sent a message once. A receiver that passes over a webhook-id that it knows has
// each message once. That two engines do not deliver at once: a data
// directory has one, and of several that share a log Run is one of their Duties.
package subscription
