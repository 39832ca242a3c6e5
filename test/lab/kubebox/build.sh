#!/usr/bin/env bash
# Builds kubebox if this very one is not in the cache yet, and prints its path. The first build takes minutes, 3 GB of Go's build
# cache and 1 GB of modules.
#
#   build.sh              Kubernetes as go.mod has it
#   build.sh previous     the minor version before
#   build.sh [previous] cached     prints its path if it is in the cache, and builds nothing
set -euo pipefail
cd "$(dirname "$0")"
cache=${GYBE_LAB_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/gybe-lab}
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
cp ./*.go go.mod go.sum "$sources"
if [ "${1-}" = previous ]; then
  cp previous/* "$sources"
  shift
fi
version=$(awk '$1 == "k8s.io/kubernetes" { v = $2 } END { print v }' "$sources/go.mod")
key=$(cat "$sources"/* build.sh <(go env GOVERSION GOARCH) | sha256sum | cut -c1-12)
binary=$cache/kubebox-$version-$key
if [ ! -x "$binary" ]; then
  if [ "${1-}" = cached ]; then exit 0; fi
  mkdir -p "$cache"
  # kubeadm, and everything that compares versions, believes only what the linker says.
  stamp=k8s.io/component-base/version
  IFS=. read -r major minor _ <<<"${version#v}"
  (cd "$sources" && CGO_ENABLED=0 GOFLAGS=-buildvcs=false GOWORK=off nice go build -trimpath -o "$binary.new" -ldflags "-s -w -X $stamp.gitVersion=$version \
    -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor -X $stamp.gitTreeState=clean -X $stamp.gitCommit=0 -X $stamp.buildDate=1970-01-01T00:00:00Z" .) >&2
  mv "$binary.new" "$binary"
  # What is not built any more only takes room.
  find "$cache" -maxdepth 1 -name "kubebox-$version-*" ! -name "$(basename "$binary")" -mtime +7 -delete
fi
printf '%s\n' "$binary"
