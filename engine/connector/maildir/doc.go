// Package maildir is the `maildir` connector: mail that lies in a folder, as a Maildir (new, cur, tmp) or
// as single .eml files.
//
// What it guarantees: it only reads, and nothing outside the folder (symbolic links included: one
// where a mail could lie is left out, and the log says so once). A mail's id stays the same when a
// mail program moves it from new to cur or changes its flags. It is the file's name; bytes that no
// event's messageId can hold (a file name may have any) are escaped, so that every id is fit to publish
// and get takes it. Lists come in delivery order: by the time at the beginning of the file name, then by
// name, so the order depends on nothing but the ids.
//
// A mail that cannot be understood is data, not a failure: list and get return it with
// `malformed: true` and the reason in `error`, and with whatever could be read, so that one broken
// mail never hides the others and a script can record or skip it. The reason is one printable line of
// at most 300 bytes, whatever the mail holds. A mail that exceeds a limit is malformed too: 32 MiB, 1,000
// parts, 32 multiparts inside one another, 512 MiB of memory or a few seconds of processor time to take it
// apart; see mailparse. List says so too. What is wrong inside one part of a mail that is good otherwise, only
// get says.
//
// Mails are taken apart by a confined process, never by the engine's own. A listing looks into each mail once
// and remembers its headers; a page may be shorter than asked for when mails take long.
//
// What it does not guarantee: that the address of a sender is true. Nothing is returned without bound: a
// text ends at 256 KiB, a header at 8 KiB (and then with `…`), a mail's headers are read as far as
// 4 MiB into it; `truncated: true` says that something was cut. Attachments are described, not returned.
package maildir
