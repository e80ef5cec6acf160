// Package config comes to the settings of one command line: flags first, then PAWL_ variables, then the
// configuration file, then the defaults.
//
// Guaranteed: every flag marked `setting` has a variable and a key of the same name. A mistake is named with its
// place in the file. Secrets are read only by the command that runs connectors, and no error repeats one.
package config
