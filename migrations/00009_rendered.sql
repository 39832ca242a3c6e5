-- +goose Up
-- The public JSON of instances and operations is stored with the row, masked and without links. The parts that are made from sealed columns are
-- sealed, too: a secret that its name does not show is not readable in the database either. The JSON is valid while rendered_version is the
-- row's version and rendered_format is the format of the program; a reader renders it again otherwise. Rows from before, and those that a
-- node of the release before has written, are rendered when they are read.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_instance
    ADD COLUMN rendered_brief   text, -- what lists contain by default
    ADD COLUMN rendered_details bytea, -- sealed; the other attributes
    ADD COLUMN rendered_flavour text, -- the deployment flavour, on which links depend
    ADD COLUMN rendered_version bigint,
    ADD COLUMN rendered_format  integer;

ALTER TABLE vnf_lcm_op_occ
    ADD COLUMN rendered_brief   text,
    ADD COLUMN rendered_params  bytea, -- sealed; operationParams, which do not change
    ADD COLUMN rendered_details bytea, -- sealed; the other attributes
    ADD COLUMN rendered_events  text, -- what a user can do with the operation, on which links depend
    ADD COLUMN rendered_version bigint,
    ADD COLUMN rendered_format  integer;

-- Events of a project; those from before are of the only project that there was.
ALTER TABLE event ADD COLUMN project text NOT NULL DEFAULT 'default';

-- Lists are of a project.
CREATE INDEX vnf_instance_project ON vnf_instance (project, id);
CREATE INDEX vnf_package_project ON vnf_package (project, id);
DROP INDEX vnf_instance_name;
CREATE INDEX vnf_instance_name ON vnf_instance (project, name);
DROP INDEX vnf_lcm_op_occ_order;
CREATE INDEX vnf_lcm_op_occ_order ON vnf_lcm_op_occ (project, started, id);
DROP INDEX vnf_lcm_op_occ_state;
CREATE INDEX vnf_lcm_op_occ_state ON vnf_lcm_op_occ (project, state, started, id);
