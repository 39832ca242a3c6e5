package k8scluster

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/kubespray"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

const (
	titleBalancer   = "install load balancer"
	titleBalance    = "configure load balancer"
	titleKubeconfig = "install kubeconfig"
)

// balancerScript activates a configuration of HAProxy.
//
//go:embed nodescripts/balancer.sh
var balancerScript string

// installBalancer runs the package's script on the load balancer.
func (op *spray) installBalancer(ctx context.Context) error {
	content, err := readScript(op.w.Package, op.k.lbScript)
	if err != nil {
		return lcm.Errorf(lcm.CodeUnprocessable, "The script_path in the additionalParams is invalid: %w.", err)
	}
	args := []string{"bash", "./install_external_lb.sh", "-m", remote.Quote(op.t.masterIPs())}
	if len(op.t.workers) > 0 {
		var ips []string
		for _, n := range op.t.workers {
			ips = append(ips, n.ip)
		}
		args = append(args, "-w", remote.Quote(strings.Join(ips, ",")))
	}
	return op.runScript(ctx, titleBalancer, "install", op.lb, remote.Job{
		Env: op.proxyVars(), Command: strings.Join(args, " "),
		Files: []remote.File{{Name: "install_external_lb.sh", Mode: 0o700, Content: content}},
	})
}

// balance makes the load balancer send requests to the nodes that there are now.
func (op *spray) balance(ctx context.Context) error {
	return op.w.Step(ctx, titleBalance, op.lb.vnfc, func(ctx context.Context, s *lcm.Step) error {
		for range maxRestarts {
			again, err := op.balanceOnce(ctx, s)
			if !again {
				return err
			}
		}
		return &lcm.Error{
			Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "Load balancer not configured",
			Detail: op.lb.during(titleBalance) + ": others change or lock /etc/haproxy/haproxy.cfg all the time",
			Hint:   "retry the operation when no other operation works on this load balancer",
		}
	})
}

// configChanged is the exit status of balancerScript when the configuration is another one by now, or is
// locked.
const configChanged = 75

// balanceOnce changes the configuration as it is now. again says that it has changed since it was read.
func (op *spray) balanceOnce(ctx context.Context, s *lcm.Step) (again bool, err error) {
	old, err := op.ask(ctx, op.lb, titleBalance, "cat /etc/haproxy/haproxy.cfg")
	if err != nil {
		return false, err
	}
	servers := func(nodes []node) []kubespray.Server {
		var out []kubespray.Server
		for _, n := range nodes {
			out = append(out, kubespray.Server{Name: n.name, IP: n.ip})
		}
		return out
	}
	config, err := kubespray.Balance(old, servers(op.t.masters), servers(op.t.workers))
	if err != nil {
		return false, lcm.Errorf(lcm.CodeUpstream, "%s: %w", op.lb.during(titleBalance), err).WithHint(
			"the script " + op.k.lbScript + " of the package has to write this section",
		)
	}
	s.Detail(fmt.Sprintf("%s: %s, %s", op.lb.target.Host, many(len(op.t.masters), "master"),
		many(len(op.t.workers), "worker")))
	if string(old) == string(config) {
		return false, nil
	}
	sum := sha256.Sum256(old)
	command := "bash -c " + remote.Quote(balancerScript) + " - " + hex.EncodeToString(sum[:])
	_, err = op.output(ctx, op.lb, titleBalance, command, config, 64<<10)
	if exit, ok := errors.AsType[*remote.ExitError](err); ok && exit.Status == configChanged {
		return true, nil
	}
	return false, err
}

// kubeconfig gives the login of the load balancer the administrator's access to the cluster, at its own address.
func (op *spray) kubeconfig(ctx context.Context) error {
	return op.w.Step(ctx, titleKubeconfig, op.lb.vnfc, func(ctx context.Context, s *lcm.Step) error {
		m, err := op.master()
		if err != nil {
			return err
		}
		raw, err := op.ask(ctx, m, "read the cluster's credentials", "sudo -n cat /etc/kubernetes/admin.conf")
		if err != nil {
			return err
		}
		server := "https://" + net.JoinHostPort(op.t.internal, strconv.Itoa(op.t.port))
		config, err := kubernetes.Redirected(raw, server)
		if err != nil {
			return err
		}
		s.Detail(server)
		const put = "umask 077 && mkdir -p ~/.kube && cd ~/.kube && cat >config.new && mv -f config.new config"
		_, err = op.output(ctx, op.lb, titleKubeconfig, put, config, 4<<10)
		return err
	})
}
