-- +goose Up
-- The stack that a user-data class of the package has made for an instance; NULL for most. Nodes of the release before neither read nor
-- change it, and refuse requests with such a class.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_instance ADD COLUMN assembled bytea; -- sealed
