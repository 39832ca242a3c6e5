-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE vnf_package (
    id               uuid PRIMARY KEY,
    onboarding_state text        NOT NULL,
    job_id           bigint
);
