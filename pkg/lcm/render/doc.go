// Package render makes the public JSON of instances and operations: without secrets, and without what depends on the
// request, such as links. The store keeps the result with the row, in the transaction that writes the row.
//
// The JSON of a resource has two parts, objects whose members together are the resource: the attributes that lists
// contain by default (SOL003 clauses 5.4.2.3.2 and 5.4.12.3.2), and the others.
package render

// Format is the number of the form of the JSON. Raise it with every change of the result: rows in another form are
// rendered again when they are read.
const Format = 3
