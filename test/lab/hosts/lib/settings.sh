# shellcheck shell=bash disable=SC2034 # other files use what is set here
# Where things are and what they are called. GYBE_HOSTS_STATE and GYBE_HOSTS_NET tell several sets of hosts apart.

HOSTS_HOME=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
STATE=${GYBE_HOSTS_STATE:-$(cd "$HOSTS_HOME/../../.." && pwd)/.dev/lab/hosts}
NET=${GYBE_HOSTS_NET:-gybe-hosts}           # the network namespace with the bridge
# The programs of a Kubernetes node, a file for each version, the newest first; "" for hosts that become none. What the image was
# made with counts where nothing is said.
KUBEBOX=${GYBE_LAB_KUBEBOX:-$(cut -s -d' ' -f2 "$STATE/kubebox" 2>/dev/null || true)}
# Not empty: apt-get installs every version of Kubernetes that is asked for, from the newest of these programs.
ANY_KUBERNETES=${GYBE_LAB_ANY_KUBERNETES:-}
CACHE=${GYBE_LAB_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/gybe-lab}
GATEWAY=10.10.0.1 PREFIX=24                 # the lab OpenStack's net0
FLOATING=172.24.4.0/24                      # and its public
IMAGE=$STATE/image CGROUP=$STATE/cgroup

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8

die() {
  printf 'hosts: %s\n' "$*" >&2
  exit 1
}
# cable: the name of an interface has at most 15 characters.
cable() { printf 'h%s' "$(printf %s "$1" | md5sum | cut -c1-12)"; }
