#!/bin/bash
# Writes the inventory of a VNF instance on the Ansible host, and runs playbooks of Kubespray with it.
#
#   playbook.sh                          claims the inventory's directory
#   playbook.sh PLAYBOOK [ARGUMENT...]   writes the inventory, runs a playbook, and writes the inventory for later
#
# Variables: KUBESPRAY, the directory of Kubespray; INVENTORY, that of the inventory; INSTANCE, the instance's id;
# TIME_LIMIT, in seconds; FORGET, addresses of machines whose SSH keys are new.
# Files: hosts.yaml, later.yaml (optional), all.yml, k8s_cluster.yml, keys/*.
set -o errexit -o nounset -o pipefail
umask 077

fail() {
  echo "kubespray: error: $1" >&2
  exit 1
}

# put replaces a file as a whole.
put() {
  cp "$1" "$2.new"
  mv -f "$2.new" "$2"
}

claim() {
  if [ ! -e "$INVENTORY" ]; then
    [ -d "$KUBESPRAY/inventory/sample" ] ||
      fail "$KUBESPRAY has no inventory/sample; is kubespray_root_path the directory of Kubespray?"
    # The directory appears with its owner, or not at all.
    local new="$INVENTORY.$INSTANCE"
    rm -rf "$new"
    mkdir -p "$(dirname "$INVENTORY")"
    cp -r "$KUBESPRAY/inventory/sample" "$new"
    echo "$INSTANCE" >"$new/.gybe-vnf-instance"
    mv -T "$new" "$INVENTORY" 2>/dev/null || rm -rf "$new"
  fi
  local owner
  owner=$(cat "$INVENTORY/.gybe-vnf-instance" 2>/dev/null || true)
  [ -n "$owner" ] || fail "the transferring_inventory_path $INVENTORY exists already and belongs to no VNF instance"
  [ "$owner" = "$INSTANCE" ] || fail "the transferring_inventory_path $INVENTORY belongs to VNF instance $owner"
}

write() {
  mkdir -p "$INVENTORY/group_vars/all" "$INVENTORY/group_vars/k8s_cluster" "$INVENTORY/keys"
  # The last file of a group wins.
  put all.yml "$INVENTORY/group_vars/all/zz_gybe.yml"
  put k8s_cluster.yml "$INVENTORY/group_vars/k8s_cluster/zz_gybe.yml"
  local key
  for key in master worker; do
    if [ -e "keys/$key" ]; then put "keys/$key" "$INVENTORY/keys/$key"; fi
  done
  put hosts.yaml "$INVENTORY/hosts.yaml"
  local address
  # A new machine has the name of another, but not its facts.
  if [ -n "$FORGET" ]; then rm -rf "$INVENTORY/facts"; fi
  for address in $FORGET; do
    if [ -e "$INVENTORY/known_hosts" ]; then
      ssh-keygen -f "$INVENTORY/known_hosts" -R "$address" >/dev/null 2>&1 || true
    fi
  done
}

claim
[ $# -gt 0 ] || exit 0
here=$PWD
write
playbook=$1
shift
if [ ! -e "$KUBESPRAY/$playbook" ]; then
  # Later versions have some of them there.
  [ -e "$KUBESPRAY/playbooks/$playbook" ] || fail "$KUBESPRAY has no playbook $playbook"
  playbook=playbooks/$playbook
fi
export PATH="$PATH:$HOME/.local/bin:$KUBESPRAY/venv/bin"
# Variables win over Kubespray's ansible.cfg, where all clusters have the facts of their hosts in one cache (/tmp), by
# names that other clusters use, too. A connection that another run has left open would not check the machine's key.
# The path of a socket must be short.
export ANSIBLE_HOST_KEY_CHECKING=True ANSIBLE_SSH_CONTROL_PATH_DIR="$HOME/.ansible/cp/${INSTANCE:0:13}"
export ANSIBLE_CACHE_PLUGIN=jsonfile ANSIBLE_CACHE_PLUGIN_CONNECTION="$INVENTORY/facts"
export ANSIBLE_LOCAL_TEMP="$INVENTORY/tmp" ANSIBLE_RETRY_FILES_ENABLED=False
# The results of hosts are read from the output.
export ANSIBLE_NOCOLOR=1 ANSIBLE_FORCE_COLOR=0 ANSIBLE_STDOUT_CALLBACK=default
cd "$KUBESPRAY" # for its ansible.cfg
rc=0
timeout "$TIME_LIMIT" ansible-playbook -i "$INVENTORY/hosts.yaml" --become --become-user=root "$@" "$playbook" || rc=$?
if [ "$rc" -eq 124 ]; then fail "$playbook has not ended after $TIME_LIMIT s"; fi
if [ "$rc" -eq 0 ] && [ -e "$here/later.yaml" ]; then put "$here/later.yaml" "$INVENTORY/hosts.yaml"; fi
exit "$rc"
