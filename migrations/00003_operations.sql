-- +goose Up
-- What every operation beyond the main job needs. All of it has defaults, so that nodes of the release before go on.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_instance
    ADD COLUMN params      bytea, -- sealed
    ADD COLUMN former_vims bytea; -- sealed

ALTER TABLE vnf_lcm_op_occ
    ADD COLUMN tries                    integer NOT NULL DEFAULT 1,
    ADD COLUMN cancel                   text    NOT NULL DEFAULT '',
    ADD COLUMN scope                    jsonb,
    ADD COLUMN before                   bytea, -- sealed; NULL once the operation has ended
    ADD COLUMN changed_ext_connectivity jsonb,
    ADD COLUMN modifications            bytea, -- sealed
    -- The packages between which the operation moves its instance; NULL once it has ended.
    ADD COLUMN new_pkg_id uuid CONSTRAINT vnf_lcm_op_occ_new_pkg REFERENCES vnf_package,
    ADD COLUMN old_pkg_id uuid CONSTRAINT vnf_lcm_op_occ_old_pkg REFERENCES vnf_package,
    -- It is written once and cannot be compressed: out of the row with it, so that the many updates of the row do not copy it.
    ALTER COLUMN before SET STORAGE EXTERNAL;
CREATE INDEX vnf_lcm_op_occ_by_new_pkg ON vnf_lcm_op_occ (new_pkg_id) WHERE new_pkg_id IS NOT NULL;
CREATE INDEX vnf_lcm_op_occ_by_old_pkg ON vnf_lcm_op_occ (old_pkg_id) WHERE old_pkg_id IS NOT NULL;
