// Package app wires a gybe node: configuration, database, engine, drivers and HTTP interfaces. It is the
// whole server, also startable in a test on a free port.
package app
