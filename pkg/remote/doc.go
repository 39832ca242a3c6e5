// Package remote runs commands and moves files on a VNF's machines over SSH and SFTP.
//
//   - [Dial] makes a connection. The machine's host key is pinned on first use for the VNFC the machine belongs to;
//     another key later is an error with both fingerprints.
//   - [Client.Run], [Client.Output], [Client.Upload] and [Client.ReadFile] do one thing each, bounded in time by the
//     context and in size by their arguments. Output is streamed line by line.
//   - [Client.StartOrAdopt] and [Client.Follow] run long work as a job on the machine: it continues when the connection
//     or this process dies, and another process finds it by its id.
//   - [Pool] shares connections.
//
// This package may not import the domain, so it has its own small [*Error]; its [Kind] lets the caller decide what a
// failure means. The package neither logs nor returns standard input or uploaded files of a command. The caller must
// not put secrets into the text of a command, because the machine's process list shows it.
package remote
