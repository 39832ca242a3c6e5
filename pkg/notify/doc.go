// Package notify is the domain of subscriptions: who gets which notification, and what has become of it.
//
// It knows nothing about the notifications of one interface. Those that a subscription to an interface can ask for, the
// form of its filter and the body of a notification are an API; package lifecycle has the one of VNF lifecycle
// management. Package delivery sends notifications, and package callback makes the requests.
package notify
