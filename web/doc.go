// Package web is the console of Gybe: read-only pages, rendered on the server, without a build of their own. It is
// mounted in the frame of the APIs, which does authentication, the access log, metrics and the mapping of errors; it
// reads over the small interfaces in deps.go.
//
// A page is a screen: one function that reads the data, and one template. The same two render the page when it is
// requested and, over server-sent events, again when the event feed reports a change; htmx then replaces only the parts
// that differ, so that focus, scroll position and opened parts stay. Without JavaScript every page is complete but does
// not update itself. All browsers that follow the same page of a project share it: it is read and rendered once for
// each change, and a slow browser misses some of them.
//
// Assets: htmx 4.0.1 and its extension for server-sent events (Zero-Clause BSD, assets/htmx.LICENSE.txt).
// Nothing is loaded from elsewhere and nothing runs inline; the Content-Security-Policy says so.
package web
