# shellcheck shell=bash
# From config/*.conf to etc/*.conf. In a template @NAME@ stands for the setting or place LAB_NAME, "@db X@" for the address
# of a database, and a line "@auth@" for the options with which the service itself logs in to Keystone.

database_url() { echo "mysql+pymysql://root@localhost/$1?unix_socket=$LAB_SOCKET&charset=utf8"; }

auth_options() { # service; with a second argument no project
  cat <<END
auth_type = password
auth_url = $LAB_KEYSTONE
www_authenticate_uri = $LAB_KEYSTONE
username = $1
password = $LAB_PASSWORD
user_domain_id = default
region_name = RegionOne
END
  [ -n "${2-}" ] || printf '%s\n' 'project_name = service' 'project_domain_id = default'
}

render() { # service template...
  local service=$1 line name substitutions=()
  shift
  for name in ${!LAB_@}; do substitutions+=(-e "s|@${name#LAB_}@|${!name}|g"); done
  cat "$@" | while IFS= read -r line; do
    case $line in
      '@auth@') auth_options "$service" ;;
      '@auth without project@') auth_options "$service" alone ;;
      *'@db '*'@') name=${line##*@db } && echo "${line%%@db *}$(database_url "${name%@}")" ;;
      *) echo "$line" ;;
    esac
  done | sed "${substitutions[@]}"
}

write_config() {
  # shellcheck disable=SC2034 # used by the templates
  local service LAB_FIRST_COMPUTE=${LAB_COMPUTES%% *}
  mkdir -p "$LAB_ETC" "$LAB_DATA"/{images,staging,tasks,fernet,credential,locks,nova,neutron,cinder,rabbit}
  for service in keystone placement glance neutron nova cinder heat; do
    render $service "$LAB_HOME/config/common.conf" "$LAB_HOME/config/$service.conf" >"$LAB_ETC/$service.conf"
  done
  render rabbit "$LAB_HOME/config/rabbitmq.conf" >"$LAB_ETC/rabbitmq.conf"
  echo '[].' >"$LAB_ETC/rabbitmq-plugins"
  credentials nfv_user nfv >"$LAB_STATE/openrc"
  credentials nfv2_user nfv2 >"$LAB_STATE/openrc2"
  credentials admin admin >"$LAB_STATE/adminrc"
}

credentials() { # user project
  cat <<END
export OS_AUTH_URL=$LAB_KEYSTONE OS_IDENTITY_API_VERSION=3 OS_REGION_NAME=RegionOne no_proxy='*'
export OS_USERNAME=$1 OS_PASSWORD=$LAB_PASSWORD OS_PROJECT_NAME=$2 OS_USER_DOMAIN_ID=default OS_PROJECT_DOMAIN_ID=default
END
}
