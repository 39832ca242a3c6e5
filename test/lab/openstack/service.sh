#!/usr/bin/env bash
# One daemon of the lab, alone:  service.sh start|stop|kill|restart|status NAME...
# A start rewrites the configuration: GYBE_LAB_TOKEN_SECONDS=20 service.sh restart keystone makes tokens short-lived until
# the next restart without it.
set -euo pipefail
cd "$(dirname "$0")"
. lib/settings.sh
. lib/process.sh
. lib/config.sh
. lib/database.sh
. lib/services.sh

[ -d "$LAB_ETC" ] || die "no lab was started in $LAB_STATE"
action=${1-status}
[ $# -lt 1 ] || shift
names=("$@")
if [ "$action" = status ]; then
  [ $# -gt 0 ] || names=("${LAB_INFRASTRUCTURE[@]}" "${LAB_SERVICES[@]}")
  code=0
  for name in "${names[@]}"; do
    if alive "$name"; then printf '%-18s %s\n' "$name" "$(pid_of "$name")"; else printf '%-18s down\n' "$name" && code=3; fi
  done
  exit $code
fi
[ $# -gt 0 ] || die "usage: service.sh start|stop|kill|restart|status NAME..."
one_at_a_time
case $action in
  stop | restart) halt TERM "${names[@]}" ;;
  kill) halt KILL "${names[@]}" ;;
  start) ;;
  *) die "there is no action $action" ;;
esac
case $action in
  start | restart)
    write_config
    for name in "${names[@]}"; do
      if [ "$name" = keystone ]; then start_keystone; else start_service "$name"; fi
    done
    listening "${names[@]}"
    ;;
esac
