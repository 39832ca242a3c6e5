-- +goose Up
-- The names of members that hold secrets, which VNFDs and requests give. NULL in rows from before and of nodes of the release before: those
-- hide members by their names alone.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_instance
    ADD COLUMN secret_names jsonb,
    -- Sealed: configurable_properties, metadata and extensions. These columns are only read, and written by nodes of the release before.
    ADD COLUMN attributes   bytea;
ALTER TABLE vnf_lcm_op_occ ADD COLUMN secret_names jsonb;
