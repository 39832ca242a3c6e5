-- +goose Up
-- The operation that ended without an inventory of the instance's resources; NULL for most. Nodes of the release before neither read nor change it.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_instance ADD COLUMN unobserved uuid;
