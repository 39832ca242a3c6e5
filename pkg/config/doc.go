// Package config is the configuration of a gybe node: a struct with defaults, filled from a YAML file,
// then from GYBE_… environment variables, then from what the command line sets. Each later source wins
// over the earlier ones.
//
// Reading is strict. A key that does not exist is an error with its line, not a setting that silently
// does nothing, and Validate reports everything that is wrong at once.
package config
