// Package preview says what an operation would do to the resources of a stack, and asks the VIM whether that is
// possible: flavours, images, networks, addresses, zones, key pairs and quotas. It renders the templates as Heat does,
// as far as that is possible without creating anything.
package preview
