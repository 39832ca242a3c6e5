package k8scluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

const titleMember = "remove etcd member"

// leadTimeout bounds the try to reach one master.
const leadTimeout = 15 * time.Second

// living finds a master that can be logged in to, none of those that avoid names.
func (in *installer) living(ctx context.Context, avoid []string) (node, error) {
	_, candidates := pick(in.c.masters, avoid)
	if len(candidates) == 0 {
		return node{}, lcm.Errorf(lcm.CodeUnprocessable, "no master of the cluster is left to work through")
	}
	if len(candidates) == 1 { // whoever uses it will see
		return candidates[0], nil
	}
	var first error
	for _, m := range candidates {
		err := in.reach(ctx, m)
		if err == nil {
			return m, nil
		}
		if ctx.Err() != nil {
			return node{}, err
		}
		if first == nil {
			first = nodeError(m, "look for a master that answers", err)
		}
	}
	return node{}, first
}

func (in *installer) reach(ctx context.Context, m node) error {
	inner, cancel := context.WithTimeoutCause(ctx, leadTimeout, errSlow)
	defer cancel()
	_, release, err := in.d.o.Connect(inner, m.target)
	if err != nil {
		if ctx.Err() == nil && inner.Err() != nil {
			err = &remote.Error{Kind: remote.KindTimeout, Op: "connect", Target: m.target.String(), Err: errSlow}
		}
		return err
	}
	release()
	return nil
}

// etcdctl is how a member of etcd is talked to: in its pod, through the API server, so that nothing has to be installed on the master.
const etcdctl = "sudo -n kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout 30s -n kube-system exec etcd-%s -- " +
	"etcdctl --endpoints https://127.0.0.1:2379 --cacert /etc/kubernetes/pki/etcd/ca.crt" +
	" --cert /etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key %s"

// forgetMember takes a master's member out of etcd, so that its loss no longer counts against the majority and its successor may come.
func (in *installer) forgetMember(ctx context.Context, gone node) error {
	return in.w.Step(ctx, titleMember, gone.vnfc, func(ctx context.Context, s *lcm.Step) error {
		m, err := in.lead()
		if err != nil {
			return err
		}
		out, err := in.etcd(ctx, m, "member list")
		if err != nil {
			return err
		}
		id := memberID(out, gone)
		if id == "" {
			s.Detail(gone.name + " is no member of etcd")
			return nil
		}
		if _, err := in.etcd(ctx, m, "member remove "+id); err != nil {
			return err
		}
		s.Detail(fmt.Sprintf("member %s of %s", id, gone.name))
		return nil
	})
}

// etcd runs one command of etcdctl on a master.
func (in *installer) etcd(ctx context.Context, m node, command string) ([]byte, error) {
	const doing = "talk to etcd"
	c, release, err := in.d.o.Connect(ctx, m.target)
	if err != nil {
		return nil, nodeError(m, doing, err)
	}
	defer release()
	out, err := short(ctx, in.d, func(ctx context.Context) ([]byte, error) {
		return c.Output(ctx, fmt.Sprintf(etcdctl, m.name, command), nil, 64<<10)
	})
	if err != nil {
		exit := remote.KindOf(err) == remote.KindExit
		err = nodeError(m, doing, err)
		if e, ok := errors.AsType[*lcm.Error](err); ok && exit {
			// Where a master has just died, the cluster's address moves and etcd elects a leader.
			e.Class, e.Hint = lcm.Transient, "etcd needs most of its members; when most masters are lost only a heal of the whole VNF helps: leave vnfcInstanceId out"
		}
		return nil, err
	}
	return out, nil
}

// memberID finds a master's member in what etcdctl lists: "id, status, name, peer URLs, client URLs, learner". A member that never started has no name.
func memberID(out []byte, n node) string {
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		f := strings.Split(lines.Text(), ", ")
		if len(f) < 4 {
			continue
		}
		peers := strings.Split(f[3], ",")
		if f[2] == n.name || slices.Contains(peers, "https://"+n.ip+":2380") {
			return f[0]
		}
	}
	return ""
}
