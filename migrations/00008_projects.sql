-- +goose Up
-- Every resource belongs to a project, and names are unique in a project. There is one project for now, that of all rows from before
-- and of nodes of the release before.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_package    ADD COLUMN project text NOT NULL DEFAULT 'default';
ALTER TABLE vnf_instance   ADD COLUMN project text NOT NULL DEFAULT 'default';
ALTER TABLE vnf_lcm_op_occ ADD COLUMN project text NOT NULL DEFAULT 'default';
ALTER TABLE vim            ADD COLUMN project text NOT NULL DEFAULT 'default';
ALTER TABLE subscription   ADD COLUMN project text NOT NULL DEFAULT 'default';
ALTER TABLE outbox         ADD COLUMN project text NOT NULL DEFAULT 'default';

-- The constraints keep their names: the error messages of both releases depend on them.
ALTER TABLE vnf_package
    DROP CONSTRAINT vnf_package_vnfd_id,
    ADD CONSTRAINT vnf_package_vnfd_id UNIQUE (project, vnfd_id);
ALTER TABLE vim
    DROP CONSTRAINT vim_name,
    ADD CONSTRAINT vim_name UNIQUE (project, name);
DROP INDEX vim_one_default;
CREATE UNIQUE INDEX vim_one_default ON vim (project) WHERE is_default;
