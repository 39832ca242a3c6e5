#!/bin/bash
# activate.sh FILE NEXT CURRENT BASE [+OPEN|-CLOSED]…: replace HAProxy's configuration FILE by standard input, under a
# lock that the caller holds. NEXT, CURRENT and BASE are SHA-256 digests: of the input, of the file that it was made from,
# and of the file before the first attempt. The ports OPEN have to be open afterwards, the ports CLOSED must not be.
set -eu
trap '' HUP PIPE # a connection that breaks does not interrupt the change
file=$1 next=$2 current=$3 base=$4
shift 4
new=$file.gybe-new old=$file.gybe-old

digest() { sha256sum "$1" 2>/dev/null | cut -d ' ' -f 1; }

cp -p "$file" "$new" # owner and mode
cat >"$new"
# The input of a connection that breaks is not complete.
if [ "$(digest "$new")" != "$next" ] || [ "$(digest "$file")" != "$current" ]; then
	rm -f "$new"
	exit 75
fi
if ! haproxy -c -f "$new" 1>&2; then
	rm -f "$new"
	exit 81
fi
# After an attempt that was cut off, FILE can be the new one already: the old file of that attempt is kept then.
if [ "$(digest "$old")" != "$base" ]; then
	cp -p "$file" "$old"
fi
mv -f "$new" "$file"

is_open() { ss -lnt | grep -q ":$1 "; }

# holds PORT: whether the port is as it has to be.
holds() {
	case $1 in
	+*) is_open "${1#+}" ;;
	-*) ! is_open "${1#-}" ;;
	esac
}

activated() {
	systemctl reload-or-restart haproxy || return 1
	tries=0
	for port in "$@"; do
		until holds "$port"; do
			tries=$((tries + 1))
			if [ "$tries" -gt 50 ]; then
				echo "gybe: after 10 s the port is not as it has to be (+ open, - closed): $port" >&2
				return 1
			fi
			sleep 0.2
		done
	done
	systemctl is-active --quiet haproxy
}

if activated "$@"; then
	rm -f "$old"
	exit 0
fi
mv -f "$old" "$file"
systemctl reload-or-restart haproxy || echo "gybe: HAProxy does not start with the old configuration either" >&2
exit 82
