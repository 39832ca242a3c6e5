# shellcheck shell=bash
# What comes from Debian's archive, once. The services are installed as Python libraries only: the daemons' packages would
# make users, ask for databases and start init scripts. The few files of those that are needed are taken out of them.

LAB_PACKAGES=(python3-keystone python3-glance python3-placement python3-nova python3-neutron python3-heat python3-cinder
  python3-sqlalchemy-ext python3-openstacksdk mariadb-server-core mariadb-client-core rabbitmq-server
  uwsgi-core uwsgi-plugin-python3 iproute2 procps util-linux)
LAB_UNPACKED=(nova-common neutron-common heat-common glance-common cinder-common)

install_packages() {
  local p missing=()
  for p in "${LAB_PACKAGES[@]}"; do
    dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || missing+=("$p")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    say "installing ${missing[*]}"
    # A fresh machine would start the broker as a system service: that is forbidden for the time of the installation.
    local policy=/usr/sbin/policy-rc.d
    if [ -e $policy ]; then policy=""; else printf '#!/bin/sh\nexit 101\n' >$policy && chmod +x $policy; fi
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=900 install --no-install-recommends "${missing[@]}" \
      >"$LAB_LOG/apt.out" 2>&1 || { tail -n 20 "$LAB_LOG/apt.out" >&2; [ -z "$policy" ] || rm -f "$policy"; die "apt-get cannot install ${missing[*]}"; }
    [ -z "$policy" ] || rm -f "$policy"
  fi
}

# package_versions names what the schemas and files come from.
package_versions() { dpkg-query -W -f='${Package} ${Version}\n' "${LAB_PACKAGES[@]}"; }

unpack_files() {
  [ ! -e "$LAB_FILES/complete" ] || return 0
  local kept="" work=$LAB_STATE/unpack
  [ -z "$LAB_CACHE" ] || kept=$LAB_CACHE/files-$(package_versions | sha256sum | cut -c1-12).tar
  mkdir -p "$LAB_FILES"
  if [ -n "$kept" ] && [ -e "$kept" ]; then
    tar -C "$LAB_FILES" -xf "$kept"
    return
  fi
  rm -rf "$work" && mkdir -p "$work/root"
  [ -n "$(find /var/lib/apt/lists -name '*Packages*' -print -quit)" ] || apt-get -qq update
  (cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "${LAB_UNPACKED[@]}") || die "cannot download ${LAB_UNPACKED[*]}"
  local deb
  for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$work/root"; done
  local s
  for s in nova neutron glance cinder; do cp "$work"/root/usr/share/$s-common/*paste.ini "$LAB_FILES/$s-paste.ini"; done
  cp "$work/root/etc/heat/api-paste.ini" "$LAB_FILES/heat-paste.ini"
  cp -r "$work/root/etc/heat/environment.d" "$LAB_FILES/heat-environment.d"
  cp -r "$work/root/etc/heat/templates" "$LAB_FILES/heat-templates"
  cp "$work/root/etc/cinder/resource_filters.json" "$LAB_FILES/cinder-filters.json"
  rm -rf "$work"
  touch "$LAB_FILES/complete"
  if [ -n "$kept" ]; then
    mkdir -p "$LAB_CACHE" && tar -C "$LAB_FILES" -cf "$kept.$$" . && mv "$kept.$$" "$kept"
  fi
}
