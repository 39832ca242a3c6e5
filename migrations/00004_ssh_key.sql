-- +goose Up
-- The key pair that was made for an instance's machines; NULL for most. Nodes of the release before neither read nor change it.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_instance ADD COLUMN ssh_key bytea; -- sealed
