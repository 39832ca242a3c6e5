# shellcheck shell=bash
# MariaDB: started, migrated, and kept. Migrating the nine schemas takes most of a first start, so that the whole database
# is put into the cache after it was seeded, under a key of all that shaped it.

mysql_client() { mariadb -uroot --protocol=socket --socket="$LAB_SOCKET" "$@"; }

# tool runs a service's management command as its package would.
tool() { # program module arguments...
  local program=$1 module=$2
  shift 2
  /usr/bin/python3 -c "import sys; sys.argv[0] = '$program'; from $module import main; sys.exit(main())" "$@"
}

cache_file() {
  {
    package_versions
    cat "$LAB_HOME"/config/*.conf "$LAB_HOME"/seed/*.py "$LAB_HOME"/lib/database.sh
    for p in ${!LAB_PORT_@}; do echo "${!p}"; done
    echo "$LAB_ADDR $LAB_COMPUTES $LAB_ZONES"
  } | sha256sum | { read -r sum _ && echo "$LAB_CACHE/database-${sum:0:16}.tar"; }
}

# create_database fills the data directory, from the cache when it can. An interrupted migration cannot be continued: it starts again.
create_database() {
  [ ! -e "$LAB_DATA/migrated" ] || return 0
  halt KILL mysql
  rm -rf "$LAB_DATA/mysql" "$LAB_DATA/identity" "$LAB_DATA/seeded"
  if [ -n "$LAB_CACHE" ] && [ -e "$(cache_file)" ]; then
    tar -C "$LAB_DATA" -xf "$(cache_file)"
    say "database taken from $(cache_file)"
    return
  fi
  mkdir -p "$LAB_DATA/mysql"
  mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$LAB_DATA/mysql" --auth-root-authentication-method=normal \
    --skip-test-db >"$LAB_LOG/mysql-install.out" 2>&1 || die "mariadb-install-db failed: $LAB_LOG/mysql-install.out"
}

start_database() {
  # Nothing here must outlive the machine: no write waits for the disk.
  launch mysql mariadbd --no-defaults --user="$(id -un)" --datadir="$LAB_DATA/mysql" --socket="$LAB_SOCKET" --skip-networking \
    --pid-file="$LAB_RUN/mariadbd.pid" --skip-log-bin --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync \
    --skip-innodb-doublewrite --innodb-log-file-size=32M --innodb-buffer-pool-size=256M --innodb-stats-persistent=0 \
    --performance-schema=OFF --max-connections=500 --table-open-cache=2000 \
    --character-set-server=utf8 --collation-server=utf8_general_ci
  local i
  for ((i = 0; i < 300; i++)); do
    ! mysql_client -e 'select 1' >/dev/null 2>&1 || return 0
    alive mysql || break
    sleep 0.1
  done
  tail -n 20 "$LAB_LOG/mysql.out" >&2
  die "MariaDB does not start: $LAB_LOG/mysql.out"
}

# migrate makes the schemas in two lanes of about the same length, one for each core.
migrate() {
  [ ! -e "$LAB_DATA/migrated" ] || return 0
  say "migrating the schemas"
  local db lane
  for db in keystone glance placement nova_api nova_cell0 nova_cell1 neutron heat cinder; do
    echo "create database if not exists $db character set utf8;"
  done | mysql_client
  (set -e; migrate_large) >"$LAB_LOG/migrate-large.out" 2>&1 9>&- &
  lane=$!
  (set -e; migrate_small) >"$LAB_LOG/migrate-small.out" 2>&1 9>&- || { tail -n 20 "$LAB_LOG/migrate-small.out" >&2; die "migration failed: $LAB_LOG/migrate-small.out"; }
  wait $lane || { tail -n 20 "$LAB_LOG/migrate-large.out" >&2; die "migration failed: $LAB_LOG/migrate-large.out"; }
  touch "$LAB_DATA/migrated"
}

migrate_large() {
  tool neutron-db-manage neutron.db.migration.cli --config-file "$LAB_ETC/neutron.conf" upgrade heads
  tool heat-manage heat.cmd.manage --config-file "$LAB_ETC/heat.conf" db_sync
}

migrate_small() {
  local ks=(tool keystone-manage keystone.cmd.manage --config-file "$LAB_ETC/keystone.conf")
  local nova=(tool nova-manage nova.cmd.manage --config-file "$LAB_ETC/nova.conf")
  local me=(--keystone-user "$(id -un)" --keystone-group "$(id -gn)")
  "${ks[@]}" db_sync
  "${ks[@]}" fernet_setup "${me[@]}"
  "${ks[@]}" credential_setup "${me[@]}"
  "${ks[@]}" bootstrap --bootstrap-password "$LAB_PASSWORD" --bootstrap-region-id RegionOne \
    --bootstrap-public-url "$LAB_KEYSTONE" --bootstrap-internal-url "$LAB_KEYSTONE" --bootstrap-admin-url "$LAB_KEYSTONE"
  tool placement-manage placement.cmd.manage --config-file "$LAB_ETC/placement.conf" db sync
  tool glance-manage glance.cmd.manage --config-file "$LAB_ETC/glance.conf" db_sync
  "${nova[@]}" api_db sync
  "${nova[@]}" cell_v2 map_cell0 --database_connection "$(database_url nova_cell0)"
  "${nova[@]}" db sync
  "${nova[@]}" cell_v2 list_cells | grep -qw cell1 ||
    "${nova[@]}" cell_v2 create_cell --name cell1 --transport-url "$(broker_url)" --database_connection "$(database_url nova_cell1)"
  tool cinder-manage cinder.cmd.manage --config-file "$LAB_ETC/cinder.conf" db sync
}

# settle_database puts this state directory into a database that may come from another one.
settle_database() {
  mysql_client <<END
update nova_api.cell_mappings set database_connection = '$(database_url nova_cell0)' where name = 'cell0';
update nova_api.cell_mappings set database_connection = '$(database_url nova_cell1)', transport_url = '$(broker_url)' where name = 'cell1';
update glance.image_locations set value = concat('file://$LAB_DATA/images/', substring_index(value, '/', -1));
END
}

# keep_database puts a database that was migrated and seeded just now into the cache.
keep_database() {
  local to
  [ -n "$LAB_CACHE" ] && [ -e "$LAB_DATA/seeded" ] || return 0
  to=$(cache_file)
  [ ! -e "$to" ] || return 0
  mkdir -p "$LAB_CACHE"
  # Only a server that has ended leaves a copy that is sure to be whole. The services connect again.
  halt TERM mysql
  tar -C "$LAB_DATA" -S -cf "$to.$$" mysql fernet credential images migrated identity seeded
  start_database
  # What no version of the lab will ask for again goes.
  find "$LAB_CACHE" -name 'database-*.tar' -mtime +14 -delete
  mv "$to.$$" "$to"
  say "database kept as $to"
}
