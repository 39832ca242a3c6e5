# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Messages, retries and files, for all scripts of a node. It expects PROG, the name of the script for messages. A script that uses files sets WORK,
# a directory for temporary files, and on_exit as its EXIT trap.
#
# Plain bash with common commands: no redirections of descriptors above 2, no traps but EXIT, no BASH_* variables.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
# Programs with users of their own (apt, haproxy) must be able to read the files that are written for them; files with secrets get their own mode.
umask 022

STEP=''
WORK=''
FAILED=''

say() { printf '%s: %s\n' "$PROG" "$*"; }

# die MESSAGE: ends the script. It may run in a subshell, whose variables are lost, so it also leaves a file.
die() { die_with 1 "$@"; }
# die_for_now MESSAGE: the same when the cause is elsewhere, so that the same run may succeed later.
die_for_now() { die_with 75 "$@"; }
die_with() {
  local status=$1
  shift
  FAILED=1
  if [ -n "$WORK" ]; then touch "$WORK/failed"; fi
  printf '%s: error: %s%s\n' "$PROG" "${STEP:+$STEP: }" "$*" >&2
  exit "$status"
}

# on_exit is the EXIT trap. The last line names the step and the reason also when a command fails that nothing checks. It removes files with
# secrets.
on_exit() {
  local rc=$?
  if [ "$rc" -ne 0 ] && [ -z "$FAILED" ] && { [ -z "$WORK" ] || [ ! -e "$WORK/failed" ]; }; then
    printf '%s: error: %s%s\n' "$PROG" "${STEP:+$STEP: }" "exit status $rc" >&2
  fi
  if [ -n "$WORK" ]; then rm -rf "$WORK"; fi
}

# step NAME COMMAND...: runs one step under its name.
step() {
  local began
  STEP=$1
  shift
  began=$(date +%s)
  say "step $STEP"
  "$@"
  say "done $STEP ($(($(date +%s) - began)) s)"
}

# poll SECONDS COMMAND...: runs the command every second until it succeeds; fails after that many seconds.
poll() {
  local end
  end=$(($(date +%s) + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if [ "$(date +%s)" -ge "$end" ]; then return 1; fi
    sleep 1
  done
}

# run COMMAND...: shows the command's output and keeps it, so that why can print the reason of a failure.
run() { "$@" 2>&1 | tee "$WORK/output"; }
why() {
  awk '{ gsub(/^[ \t]+/, "") } /^\[ERROR/ { p = p (p == "" ? "" : "; ") $0 } /[Ee]rror:|^E: / { e = $0 } NF && !/stack trace/ { l = $0 }
    END { m = p != "" ? p : e != "" ? e : l; print m != "" ? m : "no output" }' "$WORK/output"
}

# run_retrying COMMAND...: for commands that depend on servers elsewhere.
run_retrying() {
  local try
  for try in 1 2 3 4; do
    if run "$@"; then return 0; fi
    if [ "$try" -lt 4 ]; then
      say "attempt $try of 4 failed, trying again"
      sleep $((try * 3))
    fi
  done
  return 1
}

# try_secret COMMAND...: for commands whose output must not be shown: tries a few times, keeps only standard error for why.
try_secret() {
  local try
  for try in 1 2 3 4 5; do
    if "$@" 2>"$WORK/output"; then return 0; fi
    sleep "$try"
  done
  return 1
}

# put MODE PATH: writes standard input to PATH by rename when it differs. changed says whether the last put wrote; it looks for a file, because
# put is often the end of a pipe, which is a subshell.
put() {
  rm -f "$WORK/changed"
  cat >"$WORK/file"
  if cmp -s "$WORK/file" "$2"; then return 0; fi
  mkdir -p "$(dirname "$2")"
  install -m "$1" "$WORK/file" "$2.gybe-new"
  # Where /etc/hosts is a mount of its own it cannot be replaced, only filled.
  if ! mv -f "$2.gybe-new" "$2" 2>/dev/null; then
    cat "$2.gybe-new" >"$2"
    rm -f "$2.gybe-new"
  fi
  touch "$WORK/changed"
}
changed() { [ -e "$WORK/changed" ]; }

# put_block NAME PATH: the lines on standard input become the marked block NAME of PATH. All other lines stay. No input removes the block.
put_block() {
  cat >"$WORK/block"
  {
    if [ -e "$2" ]; then
      awk -v begin="# BEGIN $1" -v end="# END $1" '$0 == begin { skip = 1 } !skip { print } $0 == end { skip = 0 }' "$2"
    fi
    if [ -s "$WORK/block" ]; then
      printf '# BEGIN %s\n' "$1"
      cat "$WORK/block"
      printf '# END %s\n' "$1"
    fi
  } | put 0644 "$2"
}

has() { command -v "$1" >/dev/null 2>&1; }

# start_or_reload SERVICE RELOAD: RELOAD is not empty when its configuration has changed.
start_or_reload() {
  systemctl enable "$1" >/dev/null 2>&1 || die "systemctl enable $1"
  if [ -n "$2" ] || ! systemctl is-active --quiet "$1"; then
    systemctl reload-or-restart "$1" || die "$1 does not start: $(systemctl status --no-pager "$1" 2>&1 | awk 'NF { l = $0 } END { print l }')"
  fi
}
