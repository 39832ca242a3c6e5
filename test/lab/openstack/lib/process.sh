# shellcheck shell=bash
# Daemons by PID file. Each leads its own session, so that its children go with it, and writes to log/NAME.out: a process
# is ours when its standard output is that file, which a stranger with a re-used PID cannot have.

pid_of() { cat "$LAB_RUN/$1.pid" 2>/dev/null; }

alive() { # NAME
  local pid
  pid=$(pid_of "$1") && [ -n "$pid" ] && [ "$(readlink "/proc/$pid/fd/1")" = "$LAB_LOG/$1.out" ]
}

launch() { # NAME command...
  local name=$1
  shift
  ! alive "$name" || return 0
  (cd "$LAB_RUN" && exec setsid "$@") >>"$LAB_LOG/$name.out" 2>&1 </dev/null 9>&- &
  echo $! >"$LAB_RUN/$name.pid"
}

halt() { # SIGNAL NAME... ends daemons side by side; what is left after ten seconds is killed
  local signal=$1 name i left
  shift
  for name in "$@"; do
    ! alive "$name" || kill "-$signal" -- "-$(pid_of "$name")" 2>/dev/null || true
  done
  for ((i = 0; i < 100; i++)); do
    left=0
    for name in "$@"; do ! alive "$name" || left=1; done
    [ $left = 1 ] || break
    sleep 0.1
  done
  for name in "$@"; do
    ! alive "$name" || kill -KILL -- "-$(pid_of "$name")" 2>/dev/null || true
    rm -f "$LAB_RUN/$name.pid"
  done
}

open_port() { (exec 3<>"/dev/tcp/$LAB_ADDR/$1") 2>/dev/null; }

# own_port fails if another process uses the port of a daemon.
own_port() { # NAME PORT SETTING
  if ! alive "$1" && open_port "$2"; then
    die "port $2, for $1, is taken: $(ss -Hltnp "sport = :$2" 2>/dev/null | awk '{print $4, $6; exit}'). Stop that, set GYBE_LAB_$3, or run the lab in a network namespace"
  fi
}

await_port() { # NAME PORT
  local i
  for ((i = 0; i < 900; i++)); do
    ! open_port "$2" || return 0
    if ! alive "$1"; then
      tail -n 20 "$LAB_LOG/$1.out" >&2
      die "$1 ended; its log is $LAB_LOG/$1.out"
    fi
    sleep 0.1
  done
  die "$1 does not listen on port $2; its log is $LAB_LOG/$1.out"
}
