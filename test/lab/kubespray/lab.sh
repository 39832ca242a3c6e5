#!/usr/bin/env bash
# A cluster by playbooks of Ansible: the lab of ../k8s with an Ansible host in it. As root on Debian 12.
#
#   lab.sh up              start it, or what of it does not run
#   lab.sh test [ARG...]   run the tests in its network; ARGs are go test's
#   lab.sh smoke           a lab of its own, the smallest test in it, and nothing of it left
#   lab.sh run COMMAND...  run a command there
#   lab.sh down            remove all of it
#
# KUBESPRAY=FOLDER names other playbooks than those in ./playbooks.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
state=${GYBE_KUBESPRAY_STATE:-$root/.dev/lab/kubespray}
playbooks=$(realpath "${KUBESPRAY:-playbooks}")
PATH=$(dirname "$(command -v go)"):$PATH
export GYBE_K8S_STATE=$state GYBE_HOSTS_NET=${GYBE_HOSTS_NET:-gybe-kubespray} GYBE_LAB_ANY_KUBERNETES=1
lab=$root/test/lab/k8s/lab.sh
hosts() { GYBE_HOSTS_STATE=$state/hosts "$root/test/lab/hosts/hosts.sh" "$@"; }

# The Ansible host is a machine of net0 that OpenStack knows as an address only. The playbooks are at the path of
# Tacker's guide.
readonly ADDRESS=10.10.0.250 HOME_OF_PLAYBOOKS=/home/ubuntu/kubespray-2.16.0

# What Ansible needs on its host is what this machine has: hosts see its files.
install() {
  local need=()
  command -v ansible-playbook >/dev/null || need+=(ansible-core)
  command -v sshpass >/dev/null || need+=(sshpass)
  if [ ${#need[@]} -gt 0 ]; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null
  fi
}
# openstack COMMANDS [ARG...]: commands of the shell with OpenStack's credentials, in the lab's network.
# shellcheck disable=SC2016 # that shell expands them
openstack() { "$lab" run bash -euc '. "$0/openstack/openrc"; PATH=/usr/bin:$PATH; '"$1" "$state" "${@:2}"; }
kubebox() {
  GYBE_LAB_KUBEBOX=$(../kubebox/build.sh)
  export GYBE_LAB_KUBEBOX
}
up() {
  install
  kubebox
  "$lab" up
  # shellcheck disable=SC2016 # the lab's shell expands it
  openstack 'openstack port show ansible -f value -c id >/dev/null 2>&1 ||
    openstack port create --network net0 --fixed-ip "ip-address=$1" ansible -f value -c id >/dev/null' "$ADDRESS"
  # shellcheck disable=SC2016 # the same
  openstack 'openstack image show "$1" -f value -c id >/dev/null 2>&1 || {
    openstack image save --file "$0/image" cirros-0.5.2-x86_64-disk
    openstack image create --disk-format qcow2 --container-format bare --file "$0/image" "$1" >/dev/null
  }' ubuntu-22.04-server-cloudimg-amd64
  hosts add ansible "$ADDRESS"
  # Other hosts take all floating addresses for their own (../hosts); this one reaches the machines by them.
  hosts run ansible ip route delete local 172.24.4.0/24 dev lo 2>/dev/null || true
  # shellcheck disable=SC2016 # the host's shell expands it
  tar -C "$playbooks" -c . | hosts run ansible bash -c 'mkdir -p "$1" && tar -x -C "$1" --no-same-owner &&
    chown -R ubuntu:ubuntu "$1"' - "$HOME_OF_PLAYBOOKS"
}
tests() {
  kubebox
  GYBE_LAB_ANSIBLE=$ADDRESS "$lab" test "$@"
}

case ${1-} in
  up) up ;;
  run)
    shift
    "$lab" run "$@"
    ;;
  test)
    shift
    tests -run '^(TestKubespray|TestAnsible)' "$@"
    ;;
  smoke)
    trap '"$lab" down || true' EXIT
    up
    tests -run '^TestKubespraySmoke$' -timeout 15m
    ;;
  down) "$lab" down ;;
  *)
    sed -n 's/^#   //p' "$0" >&2
    exit 2
    ;;
esac
