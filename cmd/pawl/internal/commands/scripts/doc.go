// Package scripts holds the commands under the heading Scripts of `pawl --help`: each in the file of its name.
package scripts
