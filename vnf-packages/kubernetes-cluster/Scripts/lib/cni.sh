# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The pods' network: Cilium, by its command line tool. It needs base.sh, packages.sh, arguments.sh and kubeadm.sh.

cilium_cli_wanted() { has cilium && cilium version --client 2>/dev/null | awk -v v="$CILIUM_CLI_VERSION" '$1 == "cilium-cli:" && $2 == v { f = 1 } END { exit !f }'; }

# cilium_cli: every master gets it, because any master may have to initialise the cluster or to upgrade the network.
cilium_cli() {
  local file=cilium-linux-amd64.tar.gz sum
  if [ "$CNI" != cilium ] || cilium_cli_wanted; then return 0; fi
  fetch "https://github.com/cilium/cilium-cli/releases/download/$CILIUM_CLI_VERSION/$file" "$WORK/$file"
  sum=$(sha256sum "$WORK/$file" | awk '{ print $1 }')
  if [ "$sum" != "$CILIUM_CLI_SHA256" ]; then die "$file: the checksum is $sum, not $CILIUM_CLI_SHA256"; fi
  tar -xzf "$WORK/$file" -C "$WORK" cilium || die "$file: cannot be unpacked"
  install -m 0755 "$WORK/cilium" /usr/local/bin/cilium
}

cilium_installed() { kc -n kube-system get daemonset cilium && kc -n kube-system get deployment cilium-operator; }

# cilium_version: the version that the cluster runs, from an image such as quay.io/cilium/cilium:v1.18.4@sha256:...
cilium_version() {
  kc -n kube-system get daemonset cilium -o 'jsonpath={.spec.template.spec.containers[0].image}' | sed -E 's/@.*//; s/.*:v?//'
}

# is_older VERSION OTHER
is_older() {
  awk -v a="$1" -v b="$2" 'BEGIN { split(a, x, "."); split(b, y, "."); for (i = 1; i <= 3; i++) if (x[i] + 0 != y[i] + 0) exit !(x[i] + 0 < y[i] + 0); exit 1 }'
}

# install_network brings Cilium to CILIUM_VERSION, also in a cluster that has an older one. It never goes back to an older version.
install_network() {
  local have=''
  if [ "$CNI" != cilium ]; then return 0; fi
  if ! cilium_installed >/dev/null 2>&1; then
    install_cilium
    return 0
  fi
  have=$(cilium_version) || die_for_now "the version of Cilium cannot be read"
  if [ "$have" = "$CILIUM_VERSION" ]; then return 0; fi
  if [[ $have =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]] && ! is_older "$have" "$CILIUM_VERSION"; then
    say "warning: the cluster has Cilium $have, which is newer than CILIUM_VERSION $CILIUM_VERSION; it stays"
    return 0
  fi
  say "Cilium is upgraded from $have to $CILIUM_VERSION"
  KUBECONFIG=$ADMIN run cilium upgrade --version "$CILIUM_VERSION" || die_for_now "cilium upgrade: $(why)"
  KUBECONFIG=$ADMIN run cilium status --wait --wait-duration 5m || die_for_now "cilium status: $(why)"
}

install_cilium() {
  local _
  for _ in 1 2 3; do
    if KUBECONFIG=$ADMIN run cilium install --version "$CILIUM_VERSION" --set ipam.mode=kubernetes; then return 0; fi
    # A killed installation leaves a release that blocks the next one.
    KUBECONFIG=$ADMIN run cilium uninstall >/dev/null || true
    sleep 2
  done
  die "cilium install: $(why)"
}
