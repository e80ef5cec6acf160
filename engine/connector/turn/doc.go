// Package turn hands out the turns of a target that takes only so many calls at once, or so many in a time.
//
// Guaranteed:
//
//   - The workflows that wait have turns one after the other, and each of them in the order of its calls: a workflow
//     with many calls delays one with a single call that waits by one turn.
//   - Where calls and questions about earlier calls wait for a rate, they take turns. A question that finds no turn
//     within its time has a later one set aside for it, so that it is held back once and not without end.
//   - A call that is held back takes no turn from another, and each is told another time to come again.
//   - What waits while its own time passes, such as a question, has a turn in the first half of that time or is held
//     back: the rest is for the request.
//   - A turn that is not used soon is not used at all, so that a stall does not make many calls leave together.
//
// Not guaranteed:
//
//   - That turns are spaced exactly. One that is taken a little late, at most 50 ms, does not delay the next; and what
//     follows a turn, such as an entry in the log, takes its own time.
//   - That workflows share the turns equally where the rate gives them more rarely than calls can wait. A call that is
//     held back is not in the order any more, and has a turn if it happens to come again before one. There a workflow
//     with many calls has most of the turns.
package turn
