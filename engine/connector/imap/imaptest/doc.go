// Package imaptest runs mail servers for tests of what reads mail over IMAP: one within the test's process, and Dovecot
// as a process of its own, from the programs that the system has.
//
// What it guarantees: each server is the test's own, listens on loopback only, keeps its mails in memory or in a folder
// that is removed with the test, and ends with the test. A test on a system without Dovecot is skipped, and says so.
package imaptest
