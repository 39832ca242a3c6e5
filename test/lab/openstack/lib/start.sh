#!/usr/bin/env bash
# The start itself, after everything is installed: it needs no network. up.sh runs it, with a limit of time.
set -euo pipefail
cd "$(dirname "$0")"
. ./settings.sh
. ./process.sh
. ./packages.sh
. ./config.sh
. ./database.sh
. ./services.sh

write_config
start_service epmd
start_service rabbit
create_database
start_database
migrate
settle_database
say "database ready"
listening rabbit
start_keystone
export LAB_KEYSTONE LAB_PASSWORD LAB_COMPUTES LAB_ZONES LAB_ADDR "${!LAB_PORT_@}"
if [ ! -e "$LAB_DATA/identity" ]; then
  /usr/bin/python3 "$LAB_HOME/seed/identity.py"
  touch "$LAB_DATA/identity"
  say "users and catalog ready"
fi
for service in "${LAB_SERVICES[@]}"; do start_service "$service"; done
listening "${LAB_SERVICES[@]}"
say "every API listens"
/usr/bin/python3 "$LAB_HOME/seed/resources.py" "$LAB_DATA/seeded"
say "every host is up"
keep_database
