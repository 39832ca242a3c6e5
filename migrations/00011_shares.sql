-- +goose Up
-- The VIM whose share of the workers an operation uses (lcm.VimKey): jobs of operations are in one queue for each VIM and project. '' for
-- operations from before and of nodes of the release before, which do not take jobs from these queues.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_lcm_op_occ ADD COLUMN vim_key text NOT NULL DEFAULT '';

-- The VIMs that do not answer to a node.
ALTER TABLE node ADD COLUMN unavailable_vims jsonb;
