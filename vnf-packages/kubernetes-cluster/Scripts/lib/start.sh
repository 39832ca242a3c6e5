# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# How install_k8s_cluster.sh starts: as root, with a log, one run at a time. Each function either returns in a process that fulfils this, or runs
# the script again in one and ends with its exit status: that process prints the last line. It needs base.sh and arguments.sh.

# run_as_root ARGUMENT...: with the variables that a caller may set.
run_as_root() {
  if [ "$(id -u)" = 0 ]; then return 0; fi
  sudo -n --preserve-env="$VARIABLES" true || die "$(id -un) cannot use sudo without a password"
  exec sudo -n --preserve-env="$VARIABLES" bash "$0" "$@"
}

# run_logged ARGUMENT...: with -o the log file gets the output, except for the secrets.
run_logged() {
  local rc=0 log=/var/log/install_k8s_cluster.log
  if ! wants_log "$@" || [ -n "${GYBE_LOGGED:-}" ]; then return 0; fi
  export GYBE_LOGGED=1
  touch "$log"
  chmod 0600 "$log"
  bash "$0" "$@" 2>&1 | awk -v log_file="$log" '{ print; fflush(); if (/^(token|certificate_key):/) sub(/:.*/, ":***"); print >>log_file; fflush(log_file) }' || rc=$?
  exit "$rc"
}

# run_locked ARGUMENT...: only flock itself holds the lock (-o), because services that a run starts must not keep it.
run_locked() {
  local rc=0
  if [ -n "${GYBE_LOCKED:-}" ]; then return 0; fi
  export GYBE_LOCKED=1
  flock -o -w 900 -E 76 /run/install_k8s_cluster.lock bash "$0" "$@" || rc=$?
  if [ "$rc" = 76 ]; then die_for_now "another run has been holding /run/install_k8s_cluster.lock for 900 s"; fi
  exit "$rc"
}
