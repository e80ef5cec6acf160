// Package example holds the bundled workflow with its inbox, which `pawl up` writes into a folder and runs. Beside it
// stands webhook-to-chat.ts, a workflow that works on many events at once and needs a chat to send to. The folder tool
// is an example of a tool on NATS.
package example
