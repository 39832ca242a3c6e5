# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The container runtime: containerd. It needs base.sh and packages.sh, and kubeadm on the machine.

runtime_answers() { systemctl is-active --quiet containerd && [ -e /run/containerd/containerd.sock ]; }

# container_runtime: containerd with the systemd cgroup driver, the pause image that this kubeadm expects, and a directory for the settings of
# registries.
container_runtime() {
  local pause
  if ! has containerd; then install_packages containerd; fi
  pause=$(kubeadm config images list --kubernetes-version "$(kubeadm version -o short)" 2>/dev/null | awk '/\/pause:/ { p = $1 } END { print p }')
  containerd config default >"$WORK/containerd.toml" || die "containerd config default"
  sed -E -e 's/SystemdCgroup = false/SystemdCgroup = true/' \
    -e "s#^([[:space:]]*config_path = )(''|\"\")#\\1\"/etc/containerd/certs.d\"#" \
    -e "s#^([[:space:]]*(sandbox_image|sandbox) = )['\"].*['\"]#\\1\"${pause:-registry.k8s.io/pause:3.10}\"#" "$WORK/containerd.toml" |
    put 0644 /etc/containerd/config.toml
  systemctl enable containerd >/dev/null 2>&1 || die "systemctl enable containerd"
  if changed; then
    systemctl restart containerd || die "systemctl restart containerd"
  elif ! systemctl is-active --quiet containerd; then
    systemctl start containerd || die "systemctl start containerd"
  fi
  poll 60 runtime_answers || die "containerd does not answer after 60 s"
  systemctl enable kubelet >/dev/null 2>&1 || die "systemctl enable kubelet"
}
