package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"time"

	certutil "k8s.io/client-go/util/cert"
	utilexec "k8s.io/utils/exec"
)

// serve answers kubectl exec on port 10250: the command runs on the node itself. It does not authenticate: this is
// for networks that end on one machine.
func (k *kubelet) serve() {
	crt, key, err := certutil.GenerateSelfSignedCertKey(k.name, []net.IP{net.ParseIP(k.ip)}, nil)
	must(err)
	pair, err := tls.X509KeyPair(crt, key)
	must(err)
	mux := http.NewServeMux()
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		o, err := execOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		serveExec(w, r, onNode{}, r.PathValue("pod"), "", r.PathValue("container"), r.URL.Query()["command"], o,
			time.Hour, 30*time.Second, execProtocols)
	})
	s := http.Server{Addr: net.JoinHostPort(k.ip, "10250"), Handler: mux, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair},
	}}
	must(s.ListenAndServeTLS("", ""))
}

type onNode struct{}

func (onNode) ExecInContainer(
	ctx context.Context, _ string, _ podUID, _ string, argv []string, in io.Reader, out, errOut io.WriteCloser, _ bool,
	_ <-chan terminalSize, _ time.Duration,
) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	if out != nil {
		cmd.Stdout = out
	}
	if errOut != nil {
		cmd.Stderr = errOut
	}
	if in != nil { // through a pipe of our own: Run would wait for a client that never closes its side
		w, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(w, in); w.Close() }()
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}
