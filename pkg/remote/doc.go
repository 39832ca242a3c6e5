// Package remote runs commands and moves files on a VNF's machines over SSH and SFTP.
//
//   - [Dial] makes a connection. The machine's host key is pinned on first use for the VNFC the machine belongs to; another key
//     later is an error with both fingerprints.
//   - [Client.Run], [Client.Output], [Client.Upload] and [Client.ReadFile] do one thing each, bounded in time by the context and
//     in size by their arguments. Output is streamed line by line.
//   - [Client.StartOrAdopt] and [Client.Follow] run long work as a job that lives on the machine: it goes on when the
//     connection or this process dies, and whoever comes next finds it by its id.
//   - [Pool] shares connections.
//
// This package may not import the domain, so it has its own small [*Error] whose [Kind] lets the caller decide what a failure
// means. Nothing here logs or returns what a command is given on standard input or in a file; a command's own text is the
// caller's to keep free of secrets, because it is visible in the machine's process list.
package remote
