#!/bin/sh -e
# Coordination script of this package: agrees with the change of a VNFC if vdu_params say so. It returns nothing.
input=$(cat)
address=$(printf '%s' "$input" | sed 's/.*"ssh_ip": "\([^"]*\)".*/\1/')
echo "asks the VNFC at $address" >&2
printf '%s' "$input" | grep -q '"answer": "yes"' || {
    echo "$address does not agree" >&2
    exit 1
}
