// Package config computes the settings of one command line: flags come first, then PAWL_ variables, then the
// configuration file, then the defaults.
//
// Guaranteed: every flag marked `setting` has a variable and a key of the same name. A mistake is named with its
// place in the file. Secrets are read only by the command that runs connectors, and no error repeats one.
//
// How do I add a setting? Give it a field in flags.go, marked `setting`, or one in file.go where it has no flag; read
// it in reader.go into Settings (settings.go), and describe it in CONFIG.md.
package config
