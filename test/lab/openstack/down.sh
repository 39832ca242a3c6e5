#!/usr/bin/env bash
# Stops the lab. Its state stays, and the next start goes on with it; "down.sh wipe" removes it.
set -euo pipefail
cd "$(dirname "$0")"
. lib/settings.sh

[ -d "$LAB_STATE" ] || exit 0
one_at_a_time
lib/stop.sh
[ "${1-}" != wipe ] || rm -rf "$LAB_STATE"
