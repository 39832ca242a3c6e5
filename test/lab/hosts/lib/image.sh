# shellcheck shell=bash
# The image: what a host has over this machine's own files. It claims to be Ubuntu 22.04; archive/ is what its apt-get can install.

PACKAGES_BASE=(openssh-server openssh-sftp-server libwrap0)
PACKAGES_HAPROXY=(haproxy libopentracing1 libopentracing-c-wrapper0)
PACKAGES_KEEPALIVED=(keepalived libnftnl11 libnl-genl-3-200 libpci3 libsnmp40 libsnmp-base)

image_up() {
  local want
  want=$(find "$HOSTS_HOME/image" "$HOSTS_HOME/lib/image.sh" -type f -print0 | sort -z | xargs -0 cat | cat - <(echo "$KUBEBOX") | md5sum)
  if [ "$(cat "$IMAGE/.made-of" 2>/dev/null)" = "$want" ]; then return 0; fi
  local program
  for program in curl gpg conntrack socat openssl sudo; do
    command -v "$program" >/dev/null || die "the hosts borrow this machine's $program, which is not installed"
  done
  rm -rf "$IMAGE"
  mkdir -p "$IMAGE"/{etc/ssh,etc/sudoers.d,home/ubuntu,usr/local/bin,usr/local/libexec,usr/lib/machine/units,usr/share/archive}
  download "${PACKAGES_BASE[@]}" "${PACKAGES_HAPROXY[@]}" "${PACKAGES_KEEPALIVED[@]}"
  unpack "$IMAGE" "${PACKAGES_BASE[@]}"
  install -m 0755 "$HOSTS_HOME"/image/bin/* "$IMAGE/usr/local/bin/"
  install -m 0755 "$HOSTS_HOME"/image/machine/* "$IMAGE/usr/lib/machine/"
  image_users
  image_settings
  image_archive
  printf '%s' "$KUBEBOX" >"$STATE/kubebox"
  printf '%s' "$want" >"$IMAGE/.made-of"
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
  local e=$IMAGE/etc taken='^(ubuntu|sshd|haproxy):'
  {
    grep -vE "$taken" /etc/passwd
    echo 'sshd:x:299:65534::/run/sshd:/usr/sbin/nologin'
    echo 'haproxy:x:298:298::/var/lib/haproxy:/usr/sbin/nologin'
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
  printf 'passwd: files\ngroup: files\nshadow: files\nhosts: files\n' >"$e/nsswitch.conf"
  echo 'cpuset cpu io memory hugetlb pids' >"$IMAGE/usr/lib/machine/cgroup.controllers" # kubeadm looks for them
  chmod 0755 "$IMAGE" "$e" "$IMAGE/home"
}

# image_archive: packages as folders. Those of Kubernetes are links to kubebox.
image_archive() {
  local a=$IMAGE/usr/share/archive p program
  mkdir -p "$a"/{haproxy,keepalived,containerd,kubelet,kubeadm,kubectl}/usr/{local/bin,lib/machine/units}
  unpack "$a/haproxy" "${PACKAGES_HAPROXY[@]}"
  unpack "$a/keepalived" "${PACKAGES_KEEPALIVED[@]}"
  for p in haproxy keepalived containerd kubelet; do install -m 0755 "$HOSTS_HOME/image/units/$p" "$a/$p/usr/lib/machine/units/"; done
  if [ -z "$KUBEBOX" ]; then return 0; fi
  : >"$IMAGE/usr/lib/machine/kubebox" # mounted over
  chmod 0755 "$IMAGE/usr/lib/machine/kubebox"
  for p in containerd kubelet kubeadm kubectl; do ln -s /usr/lib/machine/kubebox "$a/$p/usr/local/bin/$p"; done
  # What would come in container images.
  for program in etcd etcdctl kube-apiserver kube-controller-manager kube-scheduler; do ln -s /usr/lib/machine/kubebox "$a/containerd/usr/local/bin/$program"; done
  "$KUBEBOX" kubeadm version -o short >"$IMAGE/usr/lib/machine/kubernetes-version"
}
