#!/bin/sh -e
# Mgmt driver of this package: counts its runs and their VNFCs in the metadata of the VNF. Text for the log goes to
# standard error.
input=$(cat)
operation=$(printf '%s' "$input" | sed 's/.*"operation": "\([a-z_]*\)".*/\1/')
vnfcs=$(printf '%s' "$input" | grep -o '"vnfcResourceInfoId"' | wc -l)
echo "$operation with $vnfcs VNFCs" >&2
printf '{"version": 1, "vnf_instance": {"metadata": {"last_report": "%s", "vnfcs": %d}}}\n' "$operation" "$vnfcs"
