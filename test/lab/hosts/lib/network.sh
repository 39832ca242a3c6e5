# shellcheck shell=bash
# The network: one bridge in a namespace of its own, the first address of net0 on it. What runs in that namespace reaches every host.

network_up() {
  [ -e "/run/netns/$NET" ] || ip netns add "$NET"
  ip -n "$NET" link set lo up
  if ! ip -n "$NET" link show bridge >/dev/null 2>&1; then
    ip -n "$NET" link add bridge type bridge
    ip -n "$NET" address add "$GATEWAY/$PREFIX" dev bridge
    ip -n "$NET" link set bridge up
  fi
  ip netns exec "$NET" sysctl -qw net.ipv4.ip_forward=1
}

network_down() {
  if [ -e "/run/netns/$NET" ]; then ip netns delete "$NET"; fi
}

# plug NAME ADDRESS, in the host's own network namespace, connects it. The namespace has no name: names are mounts, and what is
# mounted inside "ip netns exec", where OpenStack's services run, is not visible elsewhere. Whatever arrives for a floating address is the
# host's own: who gets it is decided by the route on the other side, so it may also lead to an address that moves between hosts. The price:
# a host cannot reach the floating addresses of others.
#
# An address keeps its MAC, as that of a Neutron port does when its server is replaced: others would go on sending to the one they remember.
plug() {
  local octets
  IFS=. read -ra octets <<<"$2"
  unplug "$1"
  ip link set lo up
  ip link add eth0 address "$(printf '02:00:%02x:%02x:%02x:%02x' "${octets[@]}")" type veth peer name "$(cable "$1")" netns "$NET"
  ip -n "$NET" link set "$(cable "$1")" master bridge up
  ip address add "$2/$PREFIX" dev eth0
  ip link set eth0 up
  ip route add default via "$GATEWAY"
  ip route add local "$FLOATING" dev lo
  sysctl -qw net.ipv4.ip_forward=1
}

# unplug NAME: the kernel would get round to it only some time after the host's end.
unplug() { ip -n "$NET" link delete "$(cable "$1")" 2>/dev/null || true; }

# float ADDRESS [FIXED]: where a floating address leads; nowhere without FIXED.
float() {
  if [ -n "${2-}" ]; then
    ip -n "$NET" route replace "$1/32" via "$2"
  else
    ip -n "$NET" route delete "$1/32" 2>/dev/null || true
  fi
}
