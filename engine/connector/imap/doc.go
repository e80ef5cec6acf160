// Package imap is the `imap` connector: mail that lies on a server, read over IMAP4.
//
// What it guarantees:
//
//   - It changes nothing on the server: mailboxes are opened by EXAMINE, contents are fetched by BODY.PEEK, and there
//     is no other command besides those of the login and UID SEARCH. A mail that was not seen stays so.
//   - The id of a mail is `UIDVALIDITY.UID.MAILBOX`, such as 1700000000.7.INBOX: the server never gives it to another
//     mail. It fits an event's messageId. Lists come in the order of the numbers, which is that of delivery.
//   - Where a server numbers a mailbox anew (another UIDVALIDITY), ids from before name no mail any more. A call with
//     such an id fails with precondition (imap.renumbered), and never takes another mail for the one that was meant.
//   - Mails have the fields that those of maildir have, and besides the server's `flags` and when it has `received`
//     them. What cannot be understood is data with `malformed: true`, as there, and is taken apart by the same
//     confined process (mailparse). Nothing is returned without bound. A mail of more than 32 MiB is malformed and is
//     not fetched. List looks at headers only: what is wrong with the rest, get says.
//   - A call ends at its deadline, whatever the server does, and the engine holds no more of its answers than a bound
//     for each command: lengths that the server announces are not believed. A page may be shorter than asked for when
//     mails take long.
//   - The password goes over an encrypted connection, or over loopback, and is blanked out of every result and
//     failure, as is each value that was filled in from outside the configuration.
//   - As many calls at once as are configured have a connection. More calls wait, and one that gets none in time was
//     not made. A connection is kept for two minutes for the next call. A call that finds it lost asks once more on a
//     new one.
//
// The class of a refusal follows from its response code, if it has one that says why. Otherwise NO to the login is
// auth, NO to the opening of a mailbox is precondition, and any other NO is transient. BAD is internal. A server that
// cannot be reached, or does not speak IMAP, is transient.
//
// What it does not guarantee: that the address of a sender is true, and that a server keeps the promises of IMAP on
// which ids rest.
package imap
