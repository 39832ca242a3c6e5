# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Packages of Debian and Ubuntu, and downloads. It needs base.sh.

# fetch URL FILE
fetch() { run_retrying curl -fsSL --connect-timeout 15 --max-time 300 -o "$2" "$1" || die_for_now "download $1: $(why)"; }

package_installed() { [ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null || true)" = "install ok installed" ]; }

update_packages() {
  run_retrying apt-get -q -o DPkg::Lock::Timeout=300 update || die_for_now "apt-get update: $(why)"
  touch "$WORK/packages-updated"
}

# install_packages PACKAGE...
install_packages() {
  if [ ! -e "$WORK/packages-updated" ]; then update_packages; fi
  # A run that was killed inside dpkg leaves packages half configured. Otherwise this does nothing.
  run dpkg --configure -a --force-confold >/dev/null || die "dpkg --configure -a: $(why)"
  run_retrying apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold --allow-change-held-packages \
    --no-install-recommends install "$@" || die_for_now "apt-get install $*: $(why)"
}
