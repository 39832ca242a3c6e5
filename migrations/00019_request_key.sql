-- +goose Up
-- Idempotency-Key: the requests that clients may repeat. A row is written in the transaction of the request's effect.
SET LOCAL lock_timeout = '5s';

-- id is the resource that the request created, or the operation that it started or steered. A row outlives both. The fingerprint is
-- sealed, because a request can hold passwords, and row_id is the row for which it is.
CREATE TABLE request_key (
    project     text        NOT NULL,
    subject     text        NOT NULL,
    key         text        NOT NULL,
    row_id      uuid        NOT NULL UNIQUE,
    fingerprint bytea       NOT NULL,
    id          uuid        NOT NULL,
    created     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project, subject, key)
);
CREATE INDEX request_key_created ON request_key (created);

-- Lists with filters, in the order of the list.
CREATE INDEX vnf_lcm_op_occ_type ON vnf_lcm_op_occ (project, type, started, id);
CREATE INDEX vnf_lcm_op_occ_entered ON vnf_lcm_op_occ (project, state_entered);
CREATE INDEX vnf_lcm_op_occ_automatic ON vnf_lcm_op_occ (project, started, id) WHERE automatic;
CREATE INDEX vnf_lcm_op_occ_cancelled ON vnf_lcm_op_occ (project, started, id) WHERE cancel <> '';
CREATE INDEX vnf_lcm_op_occ_grant ON vnf_lcm_op_occ ((granted->>'id')) WHERE granted IS NOT NULL;
CREATE INDEX vnf_instance_vnfd ON vnf_instance (project, vnfd_id, id);
