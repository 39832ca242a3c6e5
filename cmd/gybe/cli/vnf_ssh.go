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
	"github.com/gybe-nfv/gybe/pkg/client/wire"
)

func (a *app) vnfSSHHosts() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ssh-hosts INSTANCE", Short: "Show how the machines of a cluster are reached over SSH, with their host keys", Args: cobra.ExactArgs(1),
		Long: `Show how the machines of a VNF instance that is a Kubernetes cluster are reached over SSH.

Without --output it is a part for ssh_config, in which each machine is called NODE.INSTANCE and is believed only with the host key that Gybe has
pinned for it (OpenSSH 8.5 or later):

  gybe vnf ssh-hosts demo > demo.ssh && ssh -F demo.ssh master10.demo

--known-hosts writes lines for known_hosts instead. How to log in (a password, a key) is not shown: Gybe gives no credentials of machines away.`,
	}
	known := cmd.Flags().Bool("known-hosts", false, "write lines for known_hosts")
	identity := cmd.Flags().String("identity", "", "private key file to name in the result")
	forget := cmd.Flags().String("forget", "", "forget the host key of this VNFC: its machine was rebuilt on purpose")
	_ = cmd.RegisterFlagCompletionFunc("forget", a.ofInstance(otherVNFCs)) // the flag exists
	cmd.MarkFlagsMutuallyExclusive("known-hosts", "identity", "forget")
	return a.onInstance(cmd, func(ctx context.Context, c *client.Client, id string, _ []string) error {
		i, err := c.Instance(ctx, id)
		if err != nil {
			return err
		}
		if *forget != "" {
			ref, err := vnfc(i, *forget, func() ([]wire.SSHHost, error) { return c.SSHHosts(ctx, id) })
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
func sshConfig(w io.Writer, domain string, hosts []wire.SSHHost, identity string) {
	for n, h := range hosts {
		if n > 0 {
			printline(w)
		}
		alias := h.Name + "." + domain
		printf(w, "# %s, VNFC %s\nHost %s\n  HostName %s\n  Port %d\n  User %s\n", h.Role, h.VnfcInstanceID, alias, h.Address, h.Port, h.User)
		if identity != "" {
			printf(w, "  IdentityFile \"%s\"\n  IdentitiesOnly yes\n", identity)
		}
		if h.HostKey == nil {
			printline(w, "  # no host key is pinned: nobody has logged in yet")
			continue
		}
		printf(w, "  # %s\n  HostKeyAlias %s\n  StrictHostKeyChecking yes\n  UserKnownHostsFile none\n  GlobalKnownHostsFile none\n", h.HostKey.Fingerprint, alias)
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
func knownHosts(w io.Writer, hosts []wire.SSHHost) {
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
