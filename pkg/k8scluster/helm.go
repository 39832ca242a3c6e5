package k8scluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const (
	titleHelm    = "install Helm"
	titleCharts  = "restore Helm's charts"
	phaseHelm    = "helm"
	helmScript   = "install_helm.sh"
	helmChartDir = "var/tacker/helm" // where charts lie on masters, below /
	maxCharts    = 64 << 20
)

// The members of a registered cluster's connection that say where Helm is.
const (
	extraHelm      = "helm_info"           // extra: masternode_ip and masternode_username
	accessPassword = "masternode_password" // accessInfo
)

// installHelm runs the package's script for Helm on a master. A master that comes to a cluster gets the repositories and charts that the others
// have.
func (in *installer) installHelm(ctx context.Context, n node) error {
	if in.p.helm == "" || n.role != roleMaster {
		return nil
	}
	script, err := readScript(in.w.Package, in.p.helm)
	if err != nil {
		return lcm.Errorf(lcm.CodeUnprocessable, "The helm_installation_script_path in the additionalParams is invalid: %w.", err)
	}
	err = in.w.Step(ctx, titleHelm, n.vnfc, func(ctx context.Context, s *lcm.Step) error {
		r := &scriptRun{
			d: in.d, s: s, n: n, doing: titleHelm, clock: in.w.Clock, round: in.w.Op.StateEntered,
			id:      func(try int) string { return in.runID(n, phaseHelm, try) },
			secrets: in.hidden(n),
		}
		r.job = func(_ context.Context, id string) (remote.Job, error) {
			return remote.Job{
				RunID: id, Env: in.proxies(), Files: []remote.File{{Name: helmScript, Mode: 0o700, Content: script}},
				// From /tmp and the home directory, where older VNFMs run it.
				Command: "umask 022; install -m 0755 ./" + helmScript + " /tmp/" + helmScript + " && cd && bash /tmp/" + helmScript + " || exit $?\n" +
					"PATH=$PATH:/usr/local/bin; command -v helm >/dev/null || { echo 'the script ended as if all were well, but there is no helm'; exit 1; }",
			}, nil
		}
		return r.follow(ctx)
	})
	if err != nil || !slices.Contains(in.late, n.vnfc) {
		return err
	}
	return in.restoreCharts(ctx, n)
}

// restoreCharts copies Helm's repositories and charts from a living master.
func (in *installer) restoreCharts(ctx context.Context, n node) error {
	return in.w.Step(ctx, titleCharts, n.vnfc, func(ctx context.Context, s *lcm.Step) error {
		from, err := in.lead()
		if err != nil {
			return err
		}
		out, err := in.tell(ctx, from, titleCharts, "PATH=$PATH:/usr/local/bin; helm repo list -o json 2>/dev/null || true", nil, 1<<20)
		if err != nil {
			return err
		}
		var repos []struct{ Name, URL string }
		if len(bytes.TrimSpace(out)) > 0 {
			if err := json.Unmarshal(out, &repos); err != nil {
				return lcm.Errorf(lcm.CodeUpstream, "%s from node %s: helm repo list: %w", titleCharts, from.name, err)
			}
		}
		// As standard input, because URLs may have passwords in them.
		var script strings.Builder
		script.WriteString("PATH=$PATH:/usr/local/bin\n")
		names := []string{}
		for _, r := range repos {
			fmt.Fprintf(&script, "helm repo add --force-update -- %s %s >/dev/null || exit 1\n", remote.Quote(r.Name), remote.Quote(r.URL))
			names = append(names, r.Name)
		}
		if len(repos) > 0 {
			if _, err := in.tell(ctx, n, titleCharts, "bash -s", []byte(script.String()), 1<<20); err != nil {
				return err
			}
		}
		charts, err := in.tell(ctx, from, titleCharts, "if [ -d /"+helmChartDir+" ]; then sudo -n tar -C / -czf - "+helmChartDir+"; fi", nil, maxCharts)
		if err != nil {
			return err
		}
		if len(charts) > 0 {
			if _, err := in.tell(ctx, n, titleCharts, "sudo -n tar -C / -xzf -", charts, 1<<20); err != nil {
				return err
			}
		}
		s.Detail(fmt.Sprintf("%s: %d repositories (%s), %d bytes of charts from %s", n.name, len(names), strings.Join(names, ", "), len(charts), from.name))
		return nil
	})
}

// tell runs a command on a node with standard input.
func (in *installer) tell(ctx context.Context, n node, doing, command string, stdin []byte, limit int) ([]byte, error) {
	c, release, err := in.d.o.Connect(ctx, n.target)
	if err != nil {
		return nil, nodeError(n, doing, err)
	}
	defer release()
	out, err := short(ctx, in.d, func(ctx context.Context) ([]byte, error) {
		return c.Output(ctx, command, bytes.NewReader(stdin), limit)
	})
	if err != nil {
		return nil, nodeError(n, doing, err)
	}
	return out, nil
}

// helmInfo adds to the cluster's connection where Helm can be used. The password goes where passwords go.
func (in *installer) helmInfo(conn *sol.VimConnectionInfo) {
	if in.p.helm == "" {
		return
	}
	var ips []any
	for _, m := range in.c.masters {
		ips = append(ips, m.target.Host)
	}
	conn.Extra[extraHelm] = map[string]any{"masternode_ip": ips, "masternode_username": in.p.master.username}
	if in.p.master.password != "" {
		conn.AccessInfo[accessPassword] = in.p.master.password
	}
}

// republish tells of masters that have changed, where somebody looks for them.
func (in *installer) republish(ctx context.Context, api *kubernetes.Client, masters []node) error {
	if in.p.helm == "" || len(masters) == 0 {
		return nil
	}
	return in.announce(ctx, api)
}
