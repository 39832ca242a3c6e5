# shellcheck shell=bash disable=SC2034 # other files use what is set here
# Everything that can be set, and where things are. Each setting NAME is read from the environment as GYBE_LAB_NAME and
# lives on as LAB_NAME. What a lab was started with is kept in its state directory, so that service.sh and down.sh need
# no environment; a variable that is set wins over what was kept.

LAB_HOME=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
LAB_STATE=${GYBE_LAB_STATE:-$(cd "$LAB_HOME/../../.." && pwd)/.dev/lab/openstack}
LAB_KEPT=(ADDR COMPUTES ZONES CAPACITY TOKEN_SECONDS HEAT_RETRIES VIRT VIRT_PATH DEBUG
  PORT_KEYSTONE PORT_PLACEMENT PORT_GLANCE PORT_NEUTRON PORT_NOVA PORT_HEAT PORT_HEAT_CFN PORT_CINDER PORT_RABBIT PORT_RABBIT_DIST PORT_EPMD)

setting() { # NAME default
  local from=GYBE_LAB_$1
  printf -v "LAB_$1" %s "${!from-$2}"
}

keep_settings() {
  local name value
  for name in "${LAB_KEPT[@]}"; do
    value=LAB_$name
    # shellcheck disable=SC2016 # for the one who reads the file
    printf ': "${GYBE_LAB_%s=%s}"\n' "$name" "${!value}"
  done >"$LAB_STATE/settings"
}

# shellcheck source=/dev/null # written by keep_settings
[ ! -e "$LAB_STATE/settings" ] || . "$LAB_STATE/settings"

setting ADDR 127.0.0.1                      # where every API, the broker and its helper listen
setting COMPUTES "cmp1 cmp2 cmp3 cmp4 cmp5 cmp6"
setting ZONES "az1=cmp4,cmp5 az2=cmp6"      # hosts that are in none of these are in the default zone, "nova"
setting CAPACITY "cmp6=4:4096:100"          # host=vCPU:MiB:GiB; other hosts hold more than any test asks for
setting TOKEN_SECONDS 86400                 # how long a Keystone token is good
setting HEAT_RETRIES 1                      # how often Heat recreates a failed server; its own default is 5
setting VIRT labvirt.Driver                 # Nova's compute driver: a module below nova.virt, plugins/ or VIRT_PATH
setting VIRT_PATH ""                        # one more folder to look for it
setting DEBUG false
setting PORT_KEYSTONE 5000
setting PORT_PLACEMENT 8778
setting PORT_GLANCE 9292
setting PORT_NEUTRON 9696
setting PORT_NOVA 8774
setting PORT_HEAT 8004
setting PORT_HEAT_CFN 8000
setting PORT_CINDER 8776
setting PORT_RABBIT 15673
setting PORT_RABBIT_DIST 15674
setting PORT_EPMD 14369
setting CACHE "${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/gybe-lab" # migrated databases and unpacked files; "" keeps none
setting START_SECONDS 300                   # a start that takes longer hangs: it is stopped and tried once more

# Every password of the lab. Nothing in it listens beyond this machine.
LAB_PASSWORD=devstack

LAB_ETC=$LAB_STATE/etc LAB_LOG=$LAB_STATE/log LAB_RUN=$LAB_STATE/run LAB_DATA=$LAB_STATE/data
LAB_FILES=$LAB_STATE/files                  # what packages hold and installing them is not needed for
LAB_SOCKET=$LAB_RUN/mysql.sock
LAB_KEYSTONE=http://$LAB_ADDR:$LAB_PORT_KEYSTONE/v3

# The system's Python, whatever a developer's PATH puts before it, and no proxy between the services.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 PYTHONWARNINGS=ignore PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$LAB_HOME/plugins no_proxy='*'
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY

say() { printf '%4ds  %s\n' "$SECONDS" "$*"; }

die() {
  printf 'lab: %s\n' "$*" >&2
  exit 1
}

# one_at_a_time holds the lab's lock until the script ends. Daemons MUST NOT inherit descriptor 9.
one_at_a_time() {
  mkdir -p "$LAB_STATE"
  exec 9>"$LAB_STATE/lock"
  flock -w 600 9 || die "another script works on $LAB_STATE for ten minutes already"
}
