package k8scluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/haproxy"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/kubespray"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

const (
	titleBalancer   = "install load balancer"
	titleBalance    = "configure load balancer"
	titleUnbalanced = "Load balancer not configured"
	titleNodePorts  = "look for NodePorts"
	titleKubeconfig = "install kubeconfig"
)

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
		c, release, err := op.o.Connect(ctx, op.lb.target)
		if err != nil {
			return nodeError(op.lb, titleBalance, err)
		}
		defer release()

		s.Detail(fmt.Sprintf("%s: %s, %s", op.lb.target.Host, many(len(op.t.masters), "master"),
			many(len(op.t.workers), "worker")))
		return op.balanceError(haproxy.Edit{
			Connection: c, Step: s, Timeout: op.o.CommandTimeout,
			Make: func(_ context.Context, old string) (haproxy.Wanted, error) { return op.balanced(old) },
		}.Apply(ctx))
	})
}

// balanced is the configuration of HAProxy with the nodes that there are now.
func (op *spray) balanced(old string) (haproxy.Wanted, error) {
	servers := func(nodes []node) []kubespray.Server {
		var out []kubespray.Server
		for _, n := range nodes {
			out = append(out, kubespray.Server{Name: n.name, IP: n.ip})
		}
		return out
	}
	config, err := kubespray.Balance([]byte(old), servers(op.t.masters), servers(op.t.workers))
	if err != nil {
		return haproxy.Wanted{}, lcm.Errorf(lcm.CodeUpstream, "%s: %w", op.lb.during(titleBalance), err).WithHint(
			"the script " + op.k.lbScript + " of the package has to write this section",
		)
	}
	return haproxy.Wanted{Text: string(config), Open: []int{kubespray.BalancerPort}}, nil
}

// balanceError puts a failure to configure HAProxy in words about the load balancer.
func (op *spray) balanceError(err error) error {
	if refused, ok := errors.AsType[*haproxy.RefusedError](err); ok {
		return &lcm.Error{
			Code: lcm.CodeUpstream, Title: titleUnbalanced, Detail: op.lb.during(titleBalance) + ": " + refused.Why,
			Hint: refused.Hint,
		}
	}
	if failed, ok := errors.AsType[*haproxy.FailedError](err); ok {
		return nodeError(op.lb, failed.Doing, failed.Err)
	}
	if errors.Is(err, haproxy.ErrBusy) {
		return &lcm.Error{
			Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: titleUnbalanced,
			Detail: op.lb.during(titleBalance) + ": " + err.Error(),
			Hint:   "retry the operation when no other operation works on this load balancer",
		}
	}
	return err
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

// cnfLabel is the label by which the infra drivers mark the objects of a CNF with its VNF instance.
const cnfLabel = "gybe.io/vnf-instance"

// lostPorts names the CNFs that have NodePorts. Which of them had theirs on the load balancer was in the configuration
// of the machine that is gone; an operation on such a CNF configures the new one.
func (op *spray) lostPorts(ctx context.Context) error {
	return op.w.Step(ctx, titleNodePorts, op.lb.vnfc, func(ctx context.Context, s *lcm.Step) error {
		return op.cluster.withAPI(ctx, func(api *kubernetes.Client) error {
			services, err := api.Services(ctx, cnfLabel)
			if err != nil {
				return err
			}
			found := map[string]bool{}
			for _, service := range services {
				id, err := uuid.Parse(service.Labels[cnfLabel])
				if err == nil && service.Type == kubernetes.ServiceNodePort {
					found[id.String()] = true
				}
			}
			cnfs := slices.Sorted(maps.Keys(found))
			if len(cnfs) == 0 {
				s.Detail("no CNF has NodePorts")
				return nil
			}
			more := ""
			if n := len(cnfs) - maxNamed; n > 0 {
				cnfs, more = cnfs[:maxNamed], fmt.Sprintf(" and %d more", n)
			}
			s.Detail("the new load balancer has no NodePorts of CNFs; heal the CNFs that use it: " +
				strings.Join(cnfs, ", ") + more)
			return nil
		})
	})
}
