// Package backup copies a log into a folder while an engine runs on it, and appends such a copy to an empty log.
//
// Guaranteed: a copy is whole or has no manifest. [Take] reads everything back from the folder, checks it as
// [replay.Verify] checks a log, and says what is wrong. A copy ends where each partition ended when it was begun; since
// a workflow is in one partition, the copy has each workflow as it was at one moment.
//
// [Restore] appends the stored bytes as they are, so that revisions and hashes stay valid, into as many partitions as
// the new log has. It may be interrupted and repeated: it goes on where it stopped. Only at its end may an engine open
// the log. Each workflow is then paused until a person resumes it, and each named token is revoked, since the copy does
// not know what happened after it was made.
//
// Not guaranteed: that all workflows were copied at the same moment. Only the log is copied: not the configuration, the
// secrets, the log lines of scripts, and how far webhooks were delivered.
package backup
