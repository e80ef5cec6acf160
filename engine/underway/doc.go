// Package underway knows of the calls whose outcome is not known: when this process sent them or first saw their
// record, and when their exchange ended.
//
// Guaranteed: of two clocks, the one that gives a call more time counts (F5). Whether a call is over is judged by
// the engine; nothing here sends or records.
package underway
