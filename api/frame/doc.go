// Package frame is what all HTTP interfaces of gybe have in common, so that a handler only does its own
// work and returns a value or an error.
//
// Every request passes the same stations in the same order: request id, recovery of panics, one canonical
// log line with metrics, routing (404, 405 with Allow), the Version header (SOL013 clause 9), authentication,
// Accept (406), Content-Type (415), the size of the body (413), well-formed JSON and our own OpenAPI document
// (400, with a JSON pointer for every wrong member), and then the handler.
//
// Errors are lcm.Error. They become ProblemDetails in one place, which is also the only one that logs
// their causes.
package frame
