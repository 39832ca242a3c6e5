// Package packages describes the notifications of VNF package management (SOL003 clause 10, SOL005 clause 9) to package
// notify: the filter of subscriptions and the bodies of notifications.
package packages
