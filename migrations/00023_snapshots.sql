-- +goose Up
-- VNF snapshots: resources of their own, which can outlive the instance that they are of. Nodes of the release before do not know them:
-- an operation with a snapshot that such a node claims fails, and can be retried.
SET LOCAL lock_timeout = '5s';

CREATE TABLE vnf_snapshot (
    id          uuid        PRIMARY KEY,
    project     text        NOT NULL,
    version     bigint      NOT NULL,
    created     timestamptz NOT NULL,
    updated     timestamptz NOT NULL,
    pkg_id      text,
    op_id       uuid,        -- the operation that fills it; NULL is an empty snapshot
    instance_id uuid,        -- no reference: the instance may be deleted before
    started     timestamptz,
    finished    timestamptz, -- NULL while the snapshot is not complete
    instance    bytea,       -- sealed: the instance as the operation has found it
    user_data   bytea,       -- sealed
    vnfcs       jsonb,       -- the resources in the VIM by vnfcInfo id
    deleting    timestamptz  -- until when a request may delete it
);
CREATE INDEX vnf_snapshot_list ON vnf_snapshot (project, id);
CREATE INDEX vnf_snapshot_instance ON vnf_snapshot (instance_id) WHERE instance_id IS NOT NULL;

-- gybe_use_snapshot ends the transaction with GY003 when a snapshot has another version than the operation has seen, or a request
-- deletes it. Otherwise it keeps such a request waiting until the operation is stored.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION gybe_use_snapshot(snapshot uuid, of_project text, seen bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM vnf_snapshot WHERE id = snapshot AND project = of_project AND version = seen
        AND (deleting IS NULL OR deleting <= clock_timestamp()) FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'snapshot % has changed', snapshot USING ERRCODE = 'GY003';
    END IF;
END $$;
-- +goose StatementEnd
