-- +goose Up
-- Authorisation: who did what, packages that all projects use, and host keys that belong to an instance.
SET LOCAL lock_timeout = '5s';

-- Users can choose the ids of VNFCs, so the name of a key begins with the id of the instance. The rows without it are for nodes of the
-- release before, and a later release deletes them.
INSERT INTO ssh_host_key (vnfc_id, algorithm, key, first_seen, source)
    SELECT i.id::text || '/' || h.vnfc_id, h.algorithm, h.key, h.first_seen, h.source
    FROM vnf_instance i, jsonb_array_elements(CASE WHEN jsonb_typeof(i.instantiated -> 'vnfcInfo') = 'array'
        THEN i.instantiated -> 'vnfcInfo' ELSE '[]' END) c, ssh_host_key h
    WHERE h.vnfc_id = c ->> 'id'
    ON CONFLICT DO NOTHING;

-- The audit trail. An entry is written before a request changes something, and completed with the outcome; status is NULL if the node died
-- in between. Only the first columns are indexed, so that the completion stays in the page.
CREATE TABLE audit (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    time       timestamptz NOT NULL DEFAULT clock_timestamp(),
    project    text        NOT NULL,
    subject    text        NOT NULL,
    role       text        NOT NULL,
    mode       text        NOT NULL,
    remote     text        NOT NULL,
    request_id text        NOT NULL,
    method     text        NOT NULL,
    route      text        NOT NULL,
    path       text        NOT NULL,
    resources  text[]      NOT NULL DEFAULT '{}', -- ids
    status     integer,
    error      text        NOT NULL DEFAULT '',
    took_ms    integer,
    node       text        NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX audit_project ON audit (project, id);
CREATE INDEX audit_time ON audit USING brin (time) WITH (pages_per_range = 16, autosummarize = on);

-- Who started an operation, retried it, rolled it back, cancelled it or failed it, and when. NULL for operations from before.
ALTER TABLE vnf_lcm_op_occ ADD COLUMN actions jsonb;

-- A package that all projects can use; one for each vnfdId.
ALTER TABLE vnf_package ADD COLUMN shared boolean NOT NULL DEFAULT false;
CREATE UNIQUE INDEX vnf_package_shared ON vnf_package (vnfd_id) WHERE shared;
