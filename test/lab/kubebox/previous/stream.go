package main

import (
	"k8s.io/apimachinery/pkg/types"
	protocol "k8s.io/apimachinery/pkg/util/remotecommand"
	client "k8s.io/client-go/tools/remotecommand"
	"k8s.io/kubelet/pkg/cri/streaming/remotecommand"
)

type (
	podUID       = types.UID
	terminalSize = client.TerminalSize
)

var (
	execOptions   = remotecommand.NewOptions
	serveExec     = remotecommand.ServeExec
	execProtocols = protocol.SupportedStreamingProtocols
)
