// Package lifecycle describes the notifications of VNF lifecycle management (SOL003 clause 5) to package notify: the
// filter of subscriptions and the bodies of notifications.
package lifecycle
