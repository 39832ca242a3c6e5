// Package leftovers compares what a VIM has of a VNF instance with the instance's inventory, and removes what should
// not be there. An object counts as the instance's by its tag or its name, never by anything less.
package leftovers
