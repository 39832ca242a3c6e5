-- +goose Up
-- The right of a request to work on an instance without an operation, such as the removal of leftovers: until it ends or expires, no
-- operation is admitted. Nodes of the release before do not look at it.
SET LOCAL lock_timeout = '5s';

CREATE TABLE instance_lease (
    instance_id uuid        PRIMARY KEY REFERENCES vnf_instance ON DELETE CASCADE,
    token       uuid        NOT NULL,
    purpose     text        NOT NULL,
    expires     timestamptz NOT NULL
);
