// Package store keeps everything durable in PostgreSQL: it implements lcm.Store and the stores of the
// other domains on plain SQL.
//
// An exported method is one transaction, and one round trip where the statements do not depend on each other's
// answers (a pipeline, which PostgreSQL runs as one transaction). The engine's writes are fenced: they lock the
// operation's row and fail with lcm.ErrFenced when its epoch is no longer the claim's. Whatever can hold a
// secret is sealed before it leaves the process. Every change writes rows of the event feed in its transaction; the
// node's feed notifies the other nodes afterwards (docs/adr/019).
package store
