// Package look holds the commands under the heading Look of `pawl --help`: each in the file of its name. They are
// commands that look. Six also change something, because they belong to a noun that is looked at: connectors call, add
// and remove, versions rollback, hooks test, and verify --accept-loss.
package look
