// Package images keeps the images of a VNF instance in Glance: it uploads those of the package, finds them again by a
// tag for their content, and deletes what is not used any more.
package images
