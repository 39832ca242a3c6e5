# shellcheck shell=bash
# Every daemon, in the order of the start, and how it is started.

LAB_INFRASTRUCTURE=(epmd rabbit mysql)
LAB_SERVICES=(keystone placement neutron-server nova-conductor glance-api nova-api nova-scheduler heat-engine heat-api
  cinder-api cinder-scheduler cinder-volume nova-compute)

broker_url() { echo "rabbit://guest:guest@$LAB_ADDR:$LAB_PORT_RABBIT/"; }

# port_setting names the setting of the port that a daemon listens on; nothing for one that does not listen.
port_setting() {
  case $1 in
    keystone) echo PORT_KEYSTONE ;;
    placement) echo PORT_PLACEMENT ;;
    glance-api) echo PORT_GLANCE ;;
    neutron-server) echo PORT_NEUTRON ;;
    nova-api) echo PORT_NOVA ;;
    heat-api) echo PORT_HEAT ;;
    cinder-api) echo PORT_CINDER ;;
    rabbit) echo PORT_RABBIT ;;
    epmd) echo PORT_EPMD ;;
  esac
}

port_of() {
  local setting
  setting=LAB_$(port_setting "$1")
  [ "$setting" = LAB_ ] || echo "${!setting}"
}

check_ports() {
  local name
  for name in "${LAB_INFRASTRUCTURE[@]}" "${LAB_SERVICES[@]}"; do
    [ -z "$(port_of "$name")" ] || own_port "$name" "$(port_of "$name")" "$(port_setting "$name")"
  done
  own_port rabbit "$LAB_PORT_RABBIT_DIST" PORT_RABBIT_DIST
}

# listening waits for the ports of daemons.
listening() { # NAME...
  local name
  for name in "$@"; do [ -z "$(port_of "$name")" ] || await_port "$name" "$(port_of "$name")"; done
}

python_service() { # NAME module configuration
  launch "$1" /usr/bin/python3 -c "import sys; sys.argv[0] = '$1'; from $2 import main; sys.exit(main())" --config-file "$LAB_ETC/$3.conf"
}

wsgi_service() { # NAME file environment...
  local name=$1 file=$2 v environment=()
  shift 2
  for v in "$@"; do environment+=(--env "$v"); done
  launch "$name" uwsgi --plugins python3 --need-app --http-socket "$LAB_ADDR:$(port_of "$name")" --wsgi-file "$file" --master \
    --processes 1 --threads 8 --enable-threads --lazy-apps --die-on-term --buffer-size 65535 --disable-logging \
    --add-header 'Connection: close' "${environment[@]}"
}

start_service() {
  case $1 in
    # Erlang's port mapper makes itself a daemon, one for the whole machine, unless there is one on the port given.
    epmd) launch epmd epmd -address "$LAB_ADDR" -port "$LAB_PORT_EPMD" ;;
    rabbit) start_broker ;;
    mysql) start_database ;;
    keystone) wsgi_service keystone /usr/bin/keystone-wsgi-public "OS_KEYSTONE_CONFIG_FILES=$LAB_ETC/keystone.conf" ;;
    placement) wsgi_service placement /usr/bin/placement-api "OS_PLACEMENT_CONFIG_DIR=$LAB_ETC" ;;
    neutron-server) python_service neutron-server neutron.cmd.eventlet.server neutron ;;
    nova-api) python_service nova-api nova.cmd.api nova ;;
    nova-conductor) python_service nova-conductor nova.cmd.conductor nova ;;
    nova-scheduler) python_service nova-scheduler nova.cmd.scheduler nova ;;
    nova-compute)
      export LAB_COMPUTES LAB_CAPACITY LAB_VIRT_PATH
      python_service nova-compute labcompute nova
      ;;
    glance-api) python_service glance-api glance.cmd.api glance ;;
    cinder-api) python_service cinder-api cinder.cmd.api cinder ;;
    cinder-scheduler) python_service cinder-scheduler cinder.cmd.scheduler cinder ;;
    cinder-volume) python_service cinder-volume cinder.cmd.volume cinder ;;
    # Not heat-all, which does not end on SIGTERM.
    heat-engine) python_service heat-engine labheat heat ;;
    heat-api) python_service heat-api heat.cmd.api heat ;;
    *) die "there is no service $1; there are ${LAB_INFRASTRUCTURE[*]} ${LAB_SERVICES[*]}" ;;
  esac
}

start_broker() {
  local as=(HOME="$LAB_DATA/rabbit" RABBITMQ_NODENAME=gybelab@localhost RABBITMQ_MNESIA_BASE="$LAB_DATA/rabbit" RABBITMQ_LOG_BASE="$LAB_LOG"
    RABBITMQ_CONFIG_FILE="$LAB_ETC/rabbitmq.conf" RABBITMQ_ENABLED_PLUGINS_FILE="$LAB_ETC/rabbitmq-plugins"
    RABBITMQ_PID_FILE="$LAB_RUN/rabbit-node.pid" RABBITMQ_DIST_PORT="$LAB_PORT_RABBIT_DIST"
    ERL_EPMD_ADDRESS="$LAB_ADDR" ERL_EPMD_PORT="$LAB_PORT_EPMD"
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {${LAB_ADDR//./,}}")
  launch rabbit env "${as[@]}" /usr/lib/rabbitmq/bin/rabbitmq-server
}

# start_keystone starts it and asks it for a token and the token's owner. It must have answered once before ten daemons ask
# at the same moment: a start hung there.
start_keystone() {
  local attempt
  for attempt in 1 2 3; do
    start_service keystone
    listening keystone
    ! /usr/bin/python3 "$LAB_HOME/seed/first_token.py" "$LAB_KEYSTONE" "$LAB_PASSWORD" || return 0
    say "Keystone does not answer, attempt $attempt"
    halt KILL keystone
  done
  die "Keystone does not answer: $LAB_LOG/keystone.out"
}
