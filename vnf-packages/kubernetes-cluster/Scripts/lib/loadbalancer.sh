# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are set in arguments.sh
# SPDX-License-Identifier: Apache-2.0
#
# The load balancer of several masters: HAProxy behind a virtual address of keepalived, and the cluster's address as the nodes see it. It needs
# base.sh, packages.sh and arguments.sh.

# load_balancer: HAProxy passes TLS through to the masters; clients verify the API server's certificate themselves. Only its health
# check skips verification: it asks only for /readyz, and the cluster's CA does not exist yet when HAProxy starts.
load_balancer() {
  local ip reload=''
  if ! has haproxy || ! has keepalived; then install_packages haproxy keepalived; fi
  {
    cat <<'CONF'
global
  log /dev/log local0
  user haproxy
  group haproxy
  stats socket /run/haproxy/admin.sock mode 660 level admin
defaults
  mode tcp
  log global
  option tcplog
  option dontlognull
  retries 3
  option redispatch 1
  timeout connect 1s
  timeout client 10m
  timeout server 10m
  timeout check 2s
frontend kubernetes-api
CONF
    printf '  bind *:%s\n' "$API_PORT"
    cat <<'CONF'
  default_backend masters
backend masters
  balance roundrobin
  option httpchk GET /readyz
  http-check expect status 200
  default-server check check-ssl verify none inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
CONF
    for ip in "${MASTERS[@]}"; do printf '  server master%s %s:6443\n' "${ip//./-}" "$ip"; done
  } | put 0644 /etc/haproxy/haproxy.cfg
  if changed; then reload=1; fi
  run haproxy -c -f /etc/haproxy/haproxy.cfg || die "haproxy refuses its configuration: $(why)"
  start_or_reload haproxy "$reload"
  reload=''

  put 0755 /usr/local/libexec/gybe-check-haproxy <<CONF
#!/bin/bash
# keepalived gives up the virtual address when this machine's HAProxy accepts no connections.
exec timeout 2 bash -c ': </dev/tcp/127.0.0.1/$API_PORT'
CONF
  keepalived_conf | put 0600 /etc/keepalived/keepalived.conf
  if changed; then reload=1; fi
  start_or_reload keepalived "$reload"
}

# keepalived_conf: all start as BACKUP and none preempts, so that the address moves only when its holder is in trouble. Peers are
# addressed one by one (clouds drop multicast), and the router id follows the address so that clusters in a network differ.
keepalived_conf() {
  local dev peer
  dev=$(ip -4 -o addr show | awk -v a="$NODE_IP" '{ i = $4; sub("/.*", "", i) } i == a { d = $2 } END { print d }')
  if [ -z "$dev" ]; then die "no network interface has the address $NODE_IP"; fi
  cat <<CONF
global_defs {
  router_id $NODE_NAME
  script_user root
  enable_script_security
}
vrrp_script haproxy {
  script /usr/local/libexec/gybe-check-haproxy
  interval 2
  timeout 3
  fall 2
  rise 1
}
vrrp_instance kubernetes_api {
  state BACKUP
  nopreempt
  interface $dev
  virtual_router_id $((${cluster_ip##*.} % 255 + 1))
  priority $((150 - 10 * MASTER_INDEX))
  advert_int 1
  unicast_src_ip $NODE_IP
  unicast_peer {
CONF
  for peer in "${MASTERS[@]}"; do
    if [ "$peer" != "$NODE_IP" ]; then printf '    %s\n' "$peer"; fi
  done
  echo '  }'
  if [ -n "$VRRP_AUTH" ]; then printf '  authentication {\n    auth_type PASS\n    auth_pass %s\n  }\n' "$VRRP_AUTH"; fi
  cat <<CONF
  virtual_ipaddress {
    $cluster_ip/32
  }
  track_script {
    haproxy
  }
}
CONF
}

# endpoint_accepts: something accepts connections on the cluster's address. Before the first init HAProxy has no healthy master and
# closes them again, so only "could not connect" (7) and "timed out" (28) count as a failure.
endpoint_accepts() {
  local rc=0
  curl -sk --noproxy '*' --connect-timeout 2 --max-time 4 -o /dev/null "https://$ENDPOINT/readyz" || rc=$?
  [ "$rc" -ne 7 ] && [ "$rc" -ne 28 ]
}
endpoint_ready() { curl -fsk --noproxy '*' --connect-timeout 2 --max-time 4 -o /dev/null "https://$ENDPOINT/readyz"; }

wait_endpoint() {
  poll "$1" "$2" || die_for_now "https://$ENDPOINT does not answer after $1 s; is the address allowed on the masters' ports?"
}
