# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The packages of Kubernetes and their upgrade. It needs base.sh, packages.sh, arguments.sh, loadbalancer.sh and kubeadm.sh.

# is_wanted VERSION: v1.34.2 is what K8S_VERSION asks for.
is_wanted() { case ${1#v} in "$K8S_VERSION" | "$K8S_VERSION".*) ;; *) return 1 ;; esac }

kubernetes_installed() {
  local v
  if ! has kubeadm || ! has kubelet || ! has kubectl; then return 1; fi
  v=$(kubeadm version -o short) || return 1
  is_wanted "$v" || return 1
  case $(kubelet --version) in *" $v") return 0 ;; *) return 1 ;; esac
}

# kubernetes_repository adds the package repository of the wanted minor version.
kubernetes_repository() {
  local key=/etc/apt/keyrings/kubernetes-apt-keyring.gpg repo=https://pkgs.k8s.io/core:/stable:/v$K8S_MINOR/deb
  if [ -e "$WORK/repository" ]; then return 0; fi
  fetch "$repo/Release.key" "$WORK/release.key"
  gpg --batch --yes --dearmor -o "$WORK/release.gpg" "$WORK/release.key" || die "the signing key of $repo is not usable"
  put 0644 "$key" <"$WORK/release.gpg"
  echo "deb [signed-by=$key] $repo/ /" | put 0644 /etc/apt/sources.list.d/kubernetes.list
  update_packages
  touch "$WORK/repository"
}

# package_version WANTED: the newest package of kubeadm that is 1.34 or 1.34.2; kubelet and kubectl have the same versions.
package_version() {
  local version
  version=$(apt-cache madison kubeadm | awk -F'|' -v want="$1" '
    { gsub(/ /, "", $2); v = $2; sub(/-.*/, "", v) } !best && (v == want || index(v, want ".") == 1) { best = $2 } END { print best }')
  if [ -z "$version" ]; then die "the repository of Kubernetes $K8S_MINOR has no kubeadm $1"; fi
  echo "$version"
}

hold_packages() { apt-mark hold kubelet kubeadm kubectl >/dev/null || say "warning: apt-mark hold did not work"; }

kubernetes_packages() {
  local version
  if ! kubernetes_installed; then
    kubernetes_repository
    version=$(package_version "$K8S_VERSION")
    install_packages "kubelet=$version" "kubeadm=$version" "kubectl=$version"
    if ! kubernetes_installed; then die "kubeadm $version is installed but reports $(kubeadm version -o short)"; fi
  fi
  hold_packages
}

pull_images() {
  run_retrying kubeadm config images pull --kubernetes-version "$(kubeadm version -o short)" || die_for_now "kubeadm config images pull: $(why)"
}

upgrade_kubeadm() {
  local version
  if [ ! -e /etc/kubernetes/kubelet.conf ]; then die "this machine is not a node of a cluster"; fi
  await_kubeadm
  if is_wanted "$(kubeadm version -o short)"; then return 0; fi
  kubernetes_repository
  version=$(package_version "$K8S_VERSION")
  install_packages "kubeadm=$version"
  if ! is_wanted "$(kubeadm version -o short)"; then die "kubeadm $version is installed but reports $(kubeadm version -o short)"; fi
}

# kubeadm_upgrade: the first master upgrades the cluster, all others follow. kubeadm does only what is missing, so it runs again when it was
# interrupted or when the API server was just being replaced.
kubeadm_upgrade() {
  local try words=node
  if [ "$ROLE" = master ] && [ "$MASTER_INDEX" = 0 ]; then words="apply --yes $(kubeadm version -o short)"; fi
  for try in 1 2; do
    # shellcheck disable=SC2086 # words
    if run kubeadm upgrade $words; then return 0; fi
    say "attempt $try of 2 to upgrade failed"
    poll 180 endpoint_ready || die_for_now "https://$ENDPOINT does not answer"
  done
  show_kubelet
  die "$(why)"
}

# node_upgraded: the cluster knows this node with the version of the installed kubeadm.
node_upgraded() {
  local v
  v=$(kubectl --kubeconfig /etc/kubernetes/kubelet.conf --request-timeout 10s get node "$NODE_NAME" -o 'jsonpath={.status.nodeInfo.kubeletVersion}') || return 1
  [ "$v" = "$(kubeadm version -o short)" ] || return 1
  [ "$ROLE" = worker ] || api_ready
}

upgrade_kubelet() {
  local v version
  v=$(kubeadm version -o short)
  if [ "$(kubelet --version)" != "Kubernetes $v" ]; then
    kubernetes_repository
    version=$(package_version "${v#v}")
    install_packages "kubelet=$version" "kubectl=$version"
  fi
  hold_packages
  if ! node_upgraded >/dev/null 2>&1; then
    systemctl daemon-reload
    systemctl restart kubelet || die "systemctl restart kubelet"
  fi
}

wait_upgraded() { poll 300 node_upgraded || { show_kubelet; die "the cluster does not know node $NODE_NAME as $(kubeadm version -o short) after 300 s"; }; }
