package k8scluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const (
	titleHelm    = "install Helm"
	titleCharts  = "restore Helm's charts"
	phaseHelm    = "helm"
	helmScript   = "install_helm.sh"
	helmChartDir = "var/tacker/helm" // the charts' directory on masters, below /
	maxCharts    = 64 << 20
)

// The members of a registered cluster's connection that say where Helm is.
const (
	extraHelm      = "helm_info"           // extra: masternode_ip and masternode_username
	accessPassword = "masternode_password" // accessInfo
)

// installHelm runs the package's script for Helm on a master. A master that joins an existing cluster gets the
// repositories and charts of the other masters.
func (x addons) installHelm(ctx context.Context, n node) error {
	if x.p.helm == "" || n.role != roleMaster {
		return nil
	}
	script, err := readScript(x.w.Package, x.p.helm)
	if err != nil {
		return lcm.Errorf(
			lcm.CodeUnprocessable, "The helm_installation_script_path in the additionalParams is invalid: %w.", err,
		)
	}
	err = x.runScript(ctx, titleHelm, phaseHelm, n, remote.Job{
		Env: x.proxyVars(), Files: []remote.File{{Name: helmScript, Mode: 0o700, Content: script}},
		// From /tmp and the home directory, where older VNFMs run it.
		Command: "umask 022; install -m 0755 ./" + helmScript + " /tmp/" + helmScript + " && cd && bash /tmp/" +
			helmScript + " || exit $?\n" +
			"PATH=$PATH:/usr/local/bin; " +
			"command -v helm >/dev/null || { echo 'the script succeeded, but helm was not found'; exit 1; }",
	})
	if err != nil || !slices.Contains(x.late, n.vnfc) {
		return err
	}
	return x.restoreCharts(ctx, n)
}

// restoreCharts copies Helm's repositories and charts from a master that answers.
func (x addons) restoreCharts(ctx context.Context, n node) error {
	return x.w.Step(ctx, titleCharts, n.vnfc, func(ctx context.Context, s *lcm.Step) error {
		from, err := x.master()
		if err != nil {
			return err
		}
		out, err := x.output(
			ctx, from, titleCharts, "PATH=$PATH:/usr/local/bin; helm repo list -o json 2>/dev/null || true", nil, 1<<20,
		)
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
			fmt.Fprintf(&script, "helm repo add --force-update -- %s %s >/dev/null || exit 1\n", remote.Quote(r.Name),
				remote.Quote(r.URL))
			names = append(names, r.Name)
		}
		if len(repos) > 0 {
			if _, err := x.output(ctx, n, titleCharts, "bash -s", []byte(script.String()), 1<<20); err != nil {
				return err
			}
		}
		charts, err := x.output(ctx, from, titleCharts,
			"if [ -d /"+helmChartDir+" ]; then sudo -n tar -C / -czf - "+helmChartDir+"; fi", nil, maxCharts)
		if err != nil {
			return err
		}
		if len(charts) > 0 {
			if _, err := x.output(ctx, n, titleCharts, "sudo -n tar -C / -xzf -", charts, 1<<20); err != nil {
				return err
			}
		}
		s.Detail(fmt.Sprintf("%s: %d repositories (%s), %d bytes of charts from %s", n.name, len(names),
			strings.Join(names, ", "), len(charts), from.name))
		return nil
	})
}

// addHelm adds to the cluster's connection where Helm can be used. The password goes where passwords go.
func (s *session) addHelm(conn *sol.VimConnectionInfo) {
	if s.p.helm == "" {
		return
	}
	var ips []any
	for _, m := range s.t.masters {
		ips = append(ips, m.target.Host)
	}
	conn.Extra[extraHelm] = map[string]any{"masternode_ip": ips, "masternode_username": s.p.master.username}
	if s.p.master.password != "" {
		conn.AccessInfo[accessPassword] = s.p.master.password
	}
}
