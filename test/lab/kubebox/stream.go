package main

import "k8s.io/cri-streaming/pkg/streaming/remotecommand"

// Where kubelet's half of "kubectl exec" is to be found differs between minor versions.
type (
	podUID       = string
	terminalSize = remotecommand.TerminalSize
)

var (
	execOptions   = remotecommand.NewOptions
	serveExec     = remotecommand.ServeExec
	execProtocols = remotecommand.SupportedStreamingProtocols
)
