// Package content keeps VNF package archives and their extracted files in one directory, named by content.
//
// An archive is a blob under the SHA-512 of its bytes, so storing the same package twice stores it once and a
// stored name can never mean two things. Beside each blob there may be a tree: the archive's files, extracted once
// and then only read.
//
//	blobs/ab/ab12…      an archive
//	trees/ab/ab12…/     its files
//	tmp/                work in progress: uploads, extractions, removals
//	partial/            downloads that other processes can continue
//
// Everything is created in tmp and gets its final name by one rename, after its bytes have reached the disk.
// A process that is killed at any line therefore leaves at most an entry in tmp, which [Store.Sweep] of any process
// removes once the process that created it is gone. Several processes may use one directory, also over a network file
// system that supports flock.
//
// All access goes through [os.Root]: no name, not even one from a client, reaches a file outside the directory. The
// package does not know archives or databases; the caller knows which blobs are still needed.
package content
