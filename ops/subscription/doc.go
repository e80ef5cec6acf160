// Package subscription delivers what a stream holds, such as the facts of the feed, to other systems as webhooks.
//
// Guaranteed, for each subscription:
//   - Every message that it chooses is posted until the receiver has accepted it, at least once, however often the
//     engine is killed. The same message has the same webhook-id each time.
//   - Messages of one workflow are accepted in the order of the stream: the next one is sent after the one before it
//     was accepted. Messages of other workflows go on while one is tried again. They wait too once 64 messages are not
//     accepted, or 4096 were accepted behind that one. The position is before these, so a restart posts them again.
//   - After 24 hours of failed attempts, or when the receiver answers 410, it is parked: nothing is sent, also after a
//     restart, until a person resumes it. It then goes on with the message at which it was parked, or without that one
//     if the person says so.
//   - Where the stream was made again, or the log has lost its end, it goes on with what is recorded instead; some
//     messages are delivered once more.
//   - Messages that the stream drops before they were delivered are announced by a message in their place.
//
// The position is one message in a stream of its own (position.go). The acknowledgements of a JetStream consumer would
// guarantee less: the server moves them silently past messages that the stream drops, and every reader of a stream may
// acknowledge for any consumer whose name it knows. The position is saved once a second, so the messages of the last
// second are delivered again after a kill.
//
// Not guaranteed: that a message is sent only once. A receiver that ignores a webhook-id that it knows handles each
// message once. Nor that two engines never deliver at once; in practice a data directory has one engine, and of several
// that share a log Run is one of their Duties.
package subscription
