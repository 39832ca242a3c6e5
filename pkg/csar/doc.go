// Package csar reads, checks and builds VNF package archives (ETSI GS NFV-SOL 004, TOSCA CSAR).
//
// An archive is hostile until it is shown to be harmless. Open checks the zip directory, the names and the metadata
// without unpacking anything, bounded by [Limits]; Verify then reads every byte of every file once, counts what
// really comes out of the decompressor, checks the declared checksums on the way and, when asked to, writes the files
// below an [os.Root]. What is wrong with a package is always a [*Rejection], written for the person who made the
// package; every other error is a fault of the machine and says nothing about the package.
//
// The package knows the archive's metadata (TOSCA-Metadata/TOSCA.meta, the .mf manifest), not TOSCA itself.
package csar
