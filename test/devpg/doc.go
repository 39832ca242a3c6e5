// Package devpg runs a private PostgreSQL for development, the demo and tests, from whatever binaries
// the machine has: no root, no service, no fixed port.
//
// Start gives a program its own server. New gives a test its own migrated database on a server that
// all test binaries of a run share and that stops by itself soon after the last of them.
// GYBE_DATABASE_URL names an existing server instead, for both.
package devpg
