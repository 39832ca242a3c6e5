package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

func (a *app) vnfSSHHosts() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ssh-hosts INSTANCE", Short: "Show SSH addresses and host keys of a cluster's machines",
		Args: cobra.ExactArgs(1),
		Long: `Show SSH addresses and host keys of the machines of a VNF instance that is a Kubernetes cluster.

Without --output the result is a section for ssh_config. Each machine is called NODE.INSTANCE, and
only the host key that Gybe has pinned for it is accepted (OpenSSH 8.5 or later):

  gybe vnf ssh-hosts demo > demo.ssh && ssh -F demo.ssh master10.demo

--known-hosts writes lines for known_hosts instead. Credentials (a password, a key) are not shown:
Gybe does not hand out credentials of machines.`,
	}
	known := cmd.Flags().Bool("known-hosts", false, "write lines for known_hosts")
	identity := cmd.Flags().String("identity", "", "private key file to name in the result")
	forget := cmd.Flags().String(
		"forget", "", "delete the pinned host key of a VNFC, or of a host outside, that was rebuilt on purpose",
	)
	_ = cmd.RegisterFlagCompletionFunc("forget", a.ofInstance(otherVNFCs)) // the flag exists
	cmd.MarkFlagsMutuallyExclusive("known-hosts", "identity", "forget")
	return a.onInstance(cmd, func(ctx context.Context, c *client.Client, id string, _ []string) error {
		i, err := c.Instance(ctx, id)
		if err != nil {
			return err
		}
		if *forget != "" {
			ref, err := vnfc(i, *forget, func() ([]gybeapi.SSHHost, error) { return c.SSHHosts(ctx, id) })
			if err != nil {
				return err
			}
			return c.ForgetHostKey(ctx, id, ref)
		}
		hosts, err := c.SSHHosts(ctx, id)
		if err != nil {
			return err
		}
		return a.show(hosts, func(w io.Writer) {
			if *known {
				knownHosts(w, hosts)
				return
			}
			sshConfig(w, domain(cmp.Or(i.VnfInstanceName, id)), hosts, *identity)
		})
	})
}

// notInAlias is what a name in ssh_config, where spaces and wildcards mean something, must not have.
var notInAlias = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// domain makes the end of all names of the machines of an instance.
func domain(instance string) string {
	return strings.Trim(notInAlias.ReplaceAllString(instance, "-"), "-.")
}

// sshConfig writes a part of an ssh_config file.
func sshConfig(w io.Writer, domain string, hosts []gybeapi.SSHHost, identity string) {
	for n, h := range hosts {
		if n > 0 {
			printline(w)
		}
		alias := h.Name + "." + domain
		printf(w, "# %s, VNFC %s\nHost %s\n  HostName %s\n  Port %d\n  User %s\n", h.Role, h.VnfcInstanceID, alias,
			h.Address, h.Port, h.User)
		if identity != "" {
			printf(w, "  IdentityFile \"%s\"\n  IdentitiesOnly yes\n", identity)
		}
		if h.HostKey == nil {
			printline(w, "  # no host key is pinned before the first login")
			continue
		}
		printf(
			w,
			"  # %s\n  HostKeyAlias %s\n  StrictHostKeyChecking yes\n  UserKnownHostsFile none\n"+
				"  GlobalKnownHostsFile none\n",
			h.HostKey.Fingerprint, alias,
		)
		printf(w, "  HostKeyAlgorithms %s\n", algorithms(h.HostKey.Type)) // a machine has keys of several types
		printf(w, "  KnownHostsCommand /bin/echo %s %s %s\n", alias, h.HostKey.Type, h.HostKey.Key)
	}
}

// algorithms are those by which a machine proves that it has a key of a type.
func algorithms(keyType string) string {
	if keyType == "ssh-rsa" {
		return "rsa-sha2-512,rsa-sha2-256"
	}
	return keyType
}

// knownHosts writes lines of a known_hosts file.
func knownHosts(w io.Writer, hosts []gybeapi.SSHHost) {
	for _, h := range hosts {
		if h.HostKey == nil {
			continue
		}
		name := h.Address
		if h.Port != 22 {
			name = fmt.Sprintf("[%s]:%d", h.Address, h.Port)
		}
		printf(w, "%s %s %s\n", name, h.HostKey.Type, h.HostKey.Key)
	}
}
