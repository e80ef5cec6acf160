// Package look holds the commands under the heading Look of `pawl --help`: each in the file of its name. They
// change nothing, but for connectors call, add and remove, versions rollback, hooks test and verify --accept-loss.
package look
