// Package callback makes the HTTP requests to subscribers: the test of a callback, and notifications. It authenticates
// the node as the subscription says, follows no redirects, and connects only to addresses that the policy allows.
package callback
