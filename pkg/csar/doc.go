// Package csar reads, checks and builds VNF package archives (ETSI GS NFV-SOL 004, TOSCA CSAR).
//
// An archive is not trusted. Open checks the zip directory, the names and the metadata within [Limits], without
// unpacking anything. Verify then reads every byte of every file once, counts the decompressed bytes, checks the
// declared checksums and, if requested, writes the files below an [os.Root]. A defect of a package is always a
// [*Rejection], written for the author of the package. Every other error is an error of the machine, not of the
// package.
//
// The package knows the archive's metadata (TOSCA-Metadata/TOSCA.meta, the .mf manifest), not TOSCA itself.
package csar
