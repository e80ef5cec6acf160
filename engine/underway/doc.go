// Package underway knows of the calls whose outcome is not known: when this process sent them or first saw their
// record, and when their exchange ended.
//
// Guaranteed: a time is over only when the wall clock and the elapsed clock both say so ([Moment.Until], F5). Whether a
// call is over is judged by the engine; nothing here sends or records.
package underway
