"""Functions about VNF instances (tacker.sol_refactored.common.vnf_instance_utils)."""


def json_merge_patch(target, patch):
    """Apply a JSON merge patch (RFC 7396). A dict that is patched is changed in place."""
    if not isinstance(patch, dict):
        return patch
    merged = target if isinstance(target, dict) else {}
    for name in patch:
        if patch[name] is None:
            merged.pop(name, None)
        else:
            merged[name] = json_merge_patch(merged.get(name), patch[name])
    return merged


def select_vim_info(vim_connection_info, return_key=False):
    """Return the first VIM connection. Scripts get none, because connections have credentials."""
    for key, info in (vim_connection_info or {}).items():
        return (key, info) if return_key else info
    return None
