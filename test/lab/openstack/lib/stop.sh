#!/usr/bin/env bash
# Stops every daemon of the lab: services first, then what they need. down.sh and up.sh run it with the lab's lock held.
set -euo pipefail
cd "$(dirname "$0")"
. ./settings.sh
. ./process.sh
. ./services.sh

halt TERM "${LAB_SERVICES[@]}"
halt TERM rabbit mysql
halt TERM epmd
