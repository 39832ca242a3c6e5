-- +goose Up
-- Notifications about shared packages reach subscribers of other projects, and so do events. Nodes of the release before write none of
-- them.
SET LOCAL lock_timeout = '5s';

-- audience says whose subscriptions a message is for: those of its project (PROJECT), of all projects (ALL), or of all but its own
-- (OTHERS). project_attributes are values of attributes that differ for single projects: {project: {attribute: [value]}}.
ALTER TABLE outbox
    ADD COLUMN audience           text NOT NULL DEFAULT 'PROJECT',
    ADD COLUMN project_attributes jsonb;

-- others says that an event is for all projects but its own.
ALTER TABLE event ADD COLUMN others boolean NOT NULL DEFAULT false;
