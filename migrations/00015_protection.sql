-- +goose Up
-- The protection of an instance against tasks that delete its machines: {"reason", "by", "since"}; NULL is none. Nodes of the release
-- before neither write nor check it.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_instance ADD COLUMN protection jsonb;
