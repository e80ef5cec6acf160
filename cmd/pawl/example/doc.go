// Package example holds the bundled workflow with its inbox, which `pawl up` writes into a folder and runs. It also
// holds webhook-to-chat.ts, a workflow that works on many events at once and needs a chat to send to. The folder tool
// is an example of a tool on NATS, and the folder follower an example of a program that reads the feed.
package example
