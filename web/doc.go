// Package web is the console of gybe: pages for people, rendered on the server, read-only, without a build
// of their own. It works in process over the small interfaces in deps.go and never over HTTP.
//
// A page is a screen: one function that reads what it shows, and one template. The same two make the page
// when it is asked for and, over server-sent events, again whenever the event feed says that something has
// changed; htmx then changes what differs, so that focus, scrolling and opened parts stay. Without JavaScript
// every page is complete and only stands still.
//
// Assets: htmx 4.0.1 and its extension for server-sent events (Zero-Clause BSD, assets/htmx.LICENSE.txt).
// Nothing is loaded from elsewhere and nothing runs inline; the Content-Security-Policy says so.
package web
