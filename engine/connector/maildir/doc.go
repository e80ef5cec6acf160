// Package maildir is the `maildir` connector: mail that lies in a folder, as a Maildir (new, cur, tmp) or
// as single .eml files.
//
// What it guarantees: it only reads, and nothing outside the folder (symbolic links included). A
// mail's id stays the same when a mail program moves it from new to cur or changes its flags. Lists
// come in delivery order: by the time at the beginning of the file name, then by name, so the order
// depends on nothing but the ids. Listing reads the mails' headers only.
//
// A mail that cannot be understood is data, not a failure: list and get return it with
// `malformed: true` and the reason in `error`, and with whatever could be read, so that one broken
// mail never hides the others and a script can record or skip it. A mail of more than 32 MiB counts
// as malformed.
//
// What it does not guarantee: that senders are who they say. Texts longer than 256 KiB are cut
// (`truncated: true`), and attachments are described, not returned.
package maildir
