-- +goose Up
-- The additionalParams of an instance without secrets, as version 1 of the interface shows them; NULL for an instance without any, and in rows
-- that have not been rendered in the form of this release: they are rendered when they are read. Nodes of the release before do not read it.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_instance ADD COLUMN rendered_params bytea; -- sealed

-- Connections of a VIM that the present one has replaced, so that instances with a copy of one of them use the present one; NULL for most. Nodes
-- of the release before neither read nor change it.
ALTER TABLE vim ADD COLUMN previous bytea; -- sealed
