// Package csv is the `csv` connector: spreadsheets as CSV files in one folder.
//
// What it guarantees:
//
//   - appendRow writes a row once per idempotency key. The key stands in the column `_pawl`, so the
//     row and the record of the call are one write: one O_APPEND write and one fsync, under a lock
//     on the file that other processes respect. The same key again writes nothing and gets the first
//     answer. Nothing is written once the call's deadline has passed.
//   - A row that was torn by a crash never merges with the next one. What would have been written is
//     noted beside the file (`.pawl-<file>`) before the write, so the torn piece, and only that, is
//     cut off by the next append or by reconcile; an unfinished line of another program is completed.
//   - Text stays text: cells and the names in a header that a spreadsheet would run as a formula get a leading
//     apostrophe (which readRows and findRow take away again), and cells with any separator are quoted, also
//     with one that is not the file's. JSON numbers stay numbers.
//   - Files that are made, and the notes beside them, can be read by their owner alone (mode 0600).
//   - The file stays its owner's: columns may be reordered and added, rows sorted, edited and
//     deleted; separator (comma, semicolon or tab), byte order mark and line ends are kept.
//   - Cells go by the names of columns: values by name, or a list by the call's `header`. A name
//     that the file lacks is refused before anything is written. Only a list without a header goes
//     by the file's order, and must be as long.
//   - Reads lose nothing in silence: of columns with the same name the second is called `name (2)`
//     (also to write to), and text that is not UTF-8 and cells beyond the header are failures that
//     name the row. No row is appended to a file with text that is not UTF-8.
//   - A call that changes a file waits only for the reads of this process that came before it, however many overlap.
//     Calls that read a file of 64 KiB or more take turns by workflow, as package turn gives them, so that they leave
//     processors to the rest of the engine. An append to such a file reads it, and has a turn for that, only where
//     another program has changed it, where the file was not used for long, or where the key is there already.
//
// What it does not guarantee: a person who saves an old copy over the file removes rows, and a row
// removed before its reconcile counts as never written. After a power loss that takes the note but
// leaves a torn row, the torn row is completed as a row of its own by the next append. Locks work
// where flock does: not on every network file system. They have no order among processes: reads of another process
// that overlap may keep an append out for its whole time, and a call that waits for another process keeps its turn.
//
// Memory: an index of 16 bytes and a little more per row of the files appended to most recently. A
// file is read again only when another program has changed it.
package csv
