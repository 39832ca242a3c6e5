-- +goose Up
-- The name of the stack of an instance that another VNFM has made; NULL for all others. Nodes of the release before look for a stack with
-- the usual name, do not find it, and change nothing.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_instance ADD COLUMN primary_resource text;
