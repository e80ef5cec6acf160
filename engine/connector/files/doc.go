// Package files is the `files` connector: list, watch, read, write and move files in one folder.
//
// What it guarantees: no path and no symbolic link reaches outside the folder. A write appears whole
// or not at all, and is durable when it is answered. A file that is replaced keeps its mode; a new one can be
// read by its owner alone (mode 0600). The same idempotency key has no second effect
// and gets the first answer. Reconcile answers `failed` only after it has made sure, in the file
// system, that the call with that key can never be applied any more.
//
// Every path that list gives leads to its file. Files whose names are not UTF-8 have no such path: list
// counts and shows them apart, as `unnamed`.
//
// How: a write first goes to `.pawl/<key>.new`, then leaves the empty mark `.pawl/<key>`, and then is
// renamed to its place, which removes `<key>.new`; at last the mark gets the answer. Each step is
// one atomic operation, so reconcile can take the next one away from the writer: without a mark it
// puts a mark that says refused, and with one it removes `<key>.new`; where that succeeds the write
// can never happen. If both are too late, the file has the call's content, or it was
// written since and that cannot be known: then the answer stays open.
//
// A move is one rename, and it replaces nothing: the system is asked to rename only where no file is. Before it, the
// file gets a second name, `.pawl/<key>.moved`, and the mark is left. Reconcile knows by that name which of the two
// paths the file has: the old one is `failed`, the new one `applied`, and neither is open. A lock, which the move holds
// to its end, keeps reconcile from answering while a move stands still. A rename that answers an error is looked at in
// the same way, since a file server may have renamed all the same.
//
// Watch compares the times of files with that of the folder's own file system, which it learns from a file that it
// writes, `.pawl/clock`: the clock of a file server need not agree with this machine's.
//
// What it does not guarantee: that a file can be moved which belongs to another user and which the engine may not write
// (some systems allow no second name then), or on a file system without such a rename; that a file server does not
// rename after it has been looked at. Marks are kept for 30 days; a write older than that is only told by the file's
// content, a move not at all. List and read take no lock: what another program is writing can be seen half done.
package files
