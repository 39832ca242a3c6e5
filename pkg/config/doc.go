// Package config is the configuration of a gybe node: a struct with defaults, filled from a YAML file,
// then from GYBE_… environment variables, then from flags of the command line. Each later source takes
// precedence over the earlier ones.
//
// Reading is strict. An unknown key is an error with its line, and is not silently ignored. Validate reports all
// errors together.
package config
