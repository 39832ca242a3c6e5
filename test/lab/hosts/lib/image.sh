# shellcheck shell=bash
# The image: what a host has over this machine's own files. It claims to be Ubuntu 22.04; archive/ is what its apt-get can install.

PACKAGES_BASE=(openssh-server openssh-sftp-server libwrap0 psmisc)
PACKAGES_HAPROXY=(haproxy libopentracing1 libopentracing-c-wrapper0)
PACKAGES_KEEPALIVED=(keepalived libnftnl11 libnl-genl-3-200 libpci3 libsnmp40 libsnmp-base)
PACKAGES_NFS=(nfs-ganesha nfs-ganesha-vfs libntirpc4.3 liburcu8 libwbclient0 libnfsidmap1 rpcbind nfs-common)
PACKAGES_NFS_CLIENT=(nfs-common libnfs13 libnfs-utils)

image_up() {
  local want
  want=$(find "$HOSTS_HOME/image" "$HOSTS_HOME/lib/image.sh" -type f -print0 | sort -z | xargs -0 cat | cat - <(echo "$KUBEBOX" "$ANY_KUBERNETES") | md5sum)
  if [ "$(cat "$IMAGE/.made-of" 2>/dev/null)" = "$want" ]; then return 0; fi
  local program
  for program in curl gpg conntrack socat openssl sudo; do
    command -v "$program" >/dev/null || die "the hosts borrow this machine's $program, which is not installed"
  done
  rm -rf "$IMAGE"
  mkdir -p "$IMAGE"/{etc/ssh,etc/sudoers.d,home/ubuntu,usr/local/bin,usr/local/libexec,usr/lib/machine/units,usr/share/archive}
  download "${PACKAGES_BASE[@]}" "${PACKAGES_HAPROXY[@]}" "${PACKAGES_KEEPALIVED[@]}" "${PACKAGES_NFS[@]}" "${PACKAGES_NFS_CLIENT[@]}"
  unpack "$IMAGE" "${PACKAGES_BASE[@]}"
  install -m 0755 "$HOSTS_HOME"/image/bin/* "$IMAGE/usr/local/bin/"
  image_paths
  install -m 0755 "$HOSTS_HOME"/image/machine/* "$IMAGE/usr/lib/machine/"
  cp -r "$HOSTS_HOME/image/release" "$IMAGE/usr/lib/machine/"
  install -m 0755 "$HOSTS_HOME/image/units/systemd-resolved" "$IMAGE/usr/lib/machine/units/"
  image_users
  image_settings
  image_archive
  printf '%s' "$want" >"$IMAGE/.made-of"
}

# image_paths: stand-ins that never need the real program are found at its usual place, too.
image_paths() {
  local program
  mkdir -p "$IMAGE/usr/bin"
  for program in add-apt-repository apt-cache apt-get apt-key apt-mark dpkg dpkg-query hostnamectl journalctl lsb_release systemctl; do
    ln -s "/usr/local/bin/$program" "$IMAGE/usr/bin/$program"
  done
}

# download PACKAGE...: into the cache; nothing is installed on this machine.
download() {
  local p missing=()
  mkdir -p "$CACHE/debs"
  for p; do compgen -G "$CACHE/debs/${p}_*.deb" >/dev/null || missing+=("$p"); done
  if [ ${#missing[@]} -gt 0 ]; then (cd "$CACHE/debs" && apt-get -qq -o APT::Sandbox::User=root download "${missing[@]}"); fi
}

# unpack FOLDER PACKAGE...
unpack() {
  local folder=$1 p d
  shift
  for p; do dpkg -x "$(compgen -G "$CACHE/debs/${p}_*.deb" | sort -V | tail -n 1)" "$folder"; done
  for d in bin sbin lib; do # these are links to /usr, which a folder would hide
    if [ -d "$folder/$d" ]; then
      mkdir -p "$folder/usr/$d"
      cp -a "$folder/$d/." "$folder/usr/$d/"
      rm -rf "${folder:?}/$d"
    fi
  done
  rm -rf "$folder"/usr/share/{doc,man} "$folder"/etc/{init.d,default,cron.d}
}

# image_users: none of this machine's passwords, and the users that the packages' scripts would make.
image_users() {
  local e=$IMAGE/etc taken='^(ubuntu|sshd|haproxy|_rpc):'
  {
    grep -vE "$taken" /etc/passwd
    echo 'sshd:x:299:65534::/run/sshd:/usr/sbin/nologin'
    echo 'haproxy:x:298:298::/var/lib/haproxy:/usr/sbin/nologin'
    echo '_rpc:x:297:65534::/run/rpcbind:/usr/sbin/nologin'
    echo 'ubuntu:x:20001:20001::/home/ubuntu:/bin/bash'
  } >"$e/passwd"
  { grep -vE "$taken" /etc/group; printf 'ubuntu:x:20001:\nhaproxy:x:298:\n'; } >"$e/group"
  (umask 077; { printf 'ubuntu:%s:19000:0:99999:7:::\n' "$(openssl passwd -6 ubuntu)"; awk -F: '$1 != "ubuntu" { print $1 ":*:19000:0:99999:7:::" }' "$e/passwd"; } >"$e/shadow")
  echo 'ubuntu ALL=(ALL) NOPASSWD:ALL' >"$e/sudoers.d/ubuntu"
  chmod 0440 "$e/sudoers.d/ubuntu"
  chown 20001:20001 "$IMAGE/home/ubuntu"
}

image_settings() {
  local e=$IMAGE/etc
  printf '%s\n' 'PRETTY_NAME="Ubuntu 22.04 LTS (test host)"' 'NAME=Ubuntu' 'ID=ubuntu' 'ID_LIKE=debian' 'VERSION_ID="22.04"' >"$e/os-release"
  printf '%s\n' 'UsePAM no' 'PermitRootLogin no' 'HostKey /etc/ssh/ssh_host_ed25519_key' 'UseDNS no' 'PrintMotd no' \
    'Subsystem sftp internal-sftp' 'PidFile none' 'MaxStartups 100' >"$e/ssh/sshd_config"
  # No names but those in /etc/hosts: sudo would wait for an answer.
  : >"$e/resolv.conf"
  mkdir -p "$e/systemd"
  printf '%s\n' '[Resolve]' '#DNS=' >"$e/systemd/resolved.conf"
  : >"$e/fstab"
  printf 'passwd: files\ngroup: files\nshadow: files\nhosts: files\n' >"$e/nsswitch.conf"
  echo 'cpuset cpu io memory hugetlb pids' >"$IMAGE/usr/lib/machine/cgroup.controllers" # kubeadm looks for them
  chmod 0755 "$IMAGE" "$e" "$IMAGE/home"
}

# image_hide: what can be installed is not there yet, although this machine may have it. A device 0/0 hides a file of a lower layer.
image_hide() {
  local program
  while read -r program; do
    if [ -e "$program" ] && [ ! -e "$IMAGE$program" ]; then
      mkdir -p "$(dirname "$IMAGE$program")"
      mknod "$IMAGE$program" c 0 0
    fi
  done < <(cd "$IMAGE/usr/share/archive" && find . -path './*/usr/*bin/*' | sed 's|^\./[^/]*||' && echo /usr/sbin/exportfs)
}

# image_archive: packages as folders. Those of Kubernetes have the version in the name, and are links to kubebox.
image_archive() {
  local a=$IMAGE/usr/share/archive box version p program newest='' programs=$IMAGE/usr/lib/machine/kubernetes
  mkdir -p "$a"/{haproxy,keepalived,containerd,docker-ce,docker-ce-cli,nfs-kernel-server,nfs-common}/usr/{local/bin,lib/machine/units} \
    "$a/docker-ce/etc/docker" "$programs"
  unpack "$a/haproxy" "${PACKAGES_HAPROXY[@]}"
  unpack "$a/keepalived" "${PACKAGES_KEEPALIVED[@]}"
  unpack "$a/nfs-kernel-server" "${PACKAGES_NFS[@]}"
  unpack "$a/nfs-common" "${PACKAGES_NFS_CLIENT[@]}"
  for p in haproxy keepalived containerd; do install -m 0755 "$HOSTS_HOME/image/units/$p" "$a/$p/usr/lib/machine/units/"; done
  install -m 0755 "$HOSTS_HOME/image/units/docker" "$a/docker-ce/usr/lib/machine/units/"
  install -m 0755 "$HOSTS_HOME/image/machine/docker" "$a/docker-ce-cli/usr/local/bin/"
  install -m 0755 "$HOSTS_HOME"/image/units/{nfs-kernel-server,rpcbind} "$a/nfs-kernel-server/usr/lib/machine/units/"
  install -m 0755 "$HOSTS_HOME/image/machine/exportfs" "$a/nfs-kernel-server/usr/local/bin/"
  image_hide
  : >"$STATE/kubebox"
  for box in $KUBEBOX; do
    version=$("$box" kubeadm version -o short)
    printf '%s %s\n' "$version" "$box" >>"$STATE/kubebox"
    install -m 0755 /dev/null "$programs/$version" # mounted over
    for p in kubelet kubeadm kubectl; do
      mkdir -p "$a/$p=${version#v}-1.1"/usr/{local/bin,lib/machine/units}
      ln -s "/usr/lib/machine/kubernetes/$version" "$a/$p=${version#v}-1.1/usr/local/bin/$p"
    done
    install -m 0755 "$HOSTS_HOME/image/units/kubelet" "$a/kubelet=${version#v}-1.1/usr/lib/machine/units/"
    newest=${newest:-$version}
  done
  if [ -z "$newest" ]; then return 0; fi
  ln -s "/usr/lib/machine/kubernetes/$newest" "$a/containerd/usr/local/bin/containerd"
  cp -r "$a/containerd" "$a/containerd.io" # the name of Docker's package
  ln -s "/usr/lib/machine/kubernetes/$newest" "$IMAGE/usr/lib/machine/release/containerd"
  ln -s "/usr/lib/machine/kubernetes/$newest" "$IMAGE/usr/local/bin/etcdctl" # would come in a container image
  if [ -n "$ANY_KUBERNETES" ]; then : >"$a/any-kubernetes"; fi
}
