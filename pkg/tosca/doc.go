// Package tosca reads VNF descriptors written in TOSCA YAML (ETSI GS NFV-SOL 001) into package vnfd's model.
//
// A descriptor is a main file and the files of the package that it imports. The type definitions that ETSI publishes
// are built in: importing them by their public URL, or from a copy in the package, gives the same built-in types, and
// nothing is ever fetched. Types that the package derives from them resolve to what they are derived from.
//
// Values are taken from the YAML text itself, not from decoded Go values, because a version such as 1.10 would not
// survive as a number.
//
// The input is not trusted: files, values, nesting and alias expansion are limited by [Limits], and only files of the
// package are opened. Every defect is an [*Error] with file, line and a hint. All defects that one pass finds are
// returned together as [Errors].
package tosca
