-- +goose Up
-- What scripts of packages leave for scripts of later hooks of an operation; NULL for most. Nodes of the release before neither read nor
-- change it.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_lcm_op_occ ADD COLUMN script_data bytea; -- sealed
