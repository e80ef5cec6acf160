// Package example holds the bundled workflow with its inbox, which `pawl up` writes into a folder and runs; tool is
// an example of a tool on NATS.
package example
