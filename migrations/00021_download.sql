-- +goose Up
-- Packages whose content is downloaded: the sealed source, with its credentials, and the progress. Both are NULL otherwise. Nodes of the
-- release before leave such packages alone: they have no upload_lease, and these nodes have no such jobs.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_package
    ADD COLUMN source   bytea,
    ADD COLUMN download jsonb;
