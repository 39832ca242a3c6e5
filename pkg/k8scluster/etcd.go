package k8scluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

const titleMember = "remove etcd member"

// etcdctl runs in a member's pod, through the API server, so that nothing has to be installed on the master.
const etcdctl = "sudo -n kubectl " +
	"--kubeconfig /etc/kubernetes/admin.conf --request-timeout 30s -n kube-system exec etcd-%s -- " +
	"etcdctl --endpoints https://127.0.0.1:2379 --cacert /etc/kubernetes/pki/etcd/ca.crt" +
	" --cert /etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key %s"

// removeMember takes a master's member out of etcd, so that its loss no longer counts against the majority and its
// replacement can join.
func (c *Cluster) removeMember(ctx context.Context, lost node) error {
	return c.w.Step(ctx, titleMember, lost.vnfc, func(ctx context.Context, s *lcm.Step) error {
		m, err := c.master()
		if err != nil {
			return err
		}
		out, err := c.etcd(ctx, m, "member list")
		if err != nil {
			return err
		}
		id := memberID(out, lost)
		if id == "" {
			s.Detail(lost.name + " is not a member of etcd")
			return nil
		}
		if _, err := c.etcd(ctx, m, "member remove "+id); err != nil {
			return err
		}
		s.Detail(fmt.Sprintf("member %s of %s", id, lost.name))
		return nil
	})
}

// etcdHealthy asks all members of etcd.
func (c *Cluster) etcdHealthy(ctx context.Context) error {
	m, err := c.master()
	if err != nil {
		return err
	}
	_, err = c.etcd(ctx, m, "endpoint health --cluster")
	return err
}

// etcd runs one command of etcdctl on a master.
func (c *Cluster) etcd(ctx context.Context, m node, command string) ([]byte, error) {
	out, err := c.output(ctx, m, "run etcdctl", fmt.Sprintf(etcdctl, m.name, command), nil, 64<<10)
	if err == nil {
		return out, nil
	}
	e, ok := errors.AsType[*lcm.Error](err)
	if ok && remote.KindOf(e.Cause) == remote.KindExit {
		// When a master has just failed, the cluster's address moves and etcd elects a leader.
		e.Class = lcm.Transient
		e.Hint = "etcd needs most of its members; when most masters are lost, only a heal of the whole VNF helps: " +
			"leave vnfcInstanceId out"
	}
	return nil, err
}

// memberID finds a master's member in the list of etcdctl: "id, status, name, peer URLs, client URLs, learner". A
// member that never started has no name.
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
