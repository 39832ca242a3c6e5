-- +goose Up
-- The audit trail: an order in which a reader can follow it, and entries that count failed logins.
SET LOCAL lock_timeout = '5s';

-- tx orders the entries as they become visible, as in event. Entries from before have 0 and come first.
ALTER TABLE audit ADD COLUMN tx xid8 NOT NULL DEFAULT '0', ADD COLUMN count integer NOT NULL DEFAULT 1;
ALTER TABLE audit ALTER COLUMN tx SET DEFAULT pg_current_xact_id();
CREATE INDEX audit_follow ON audit (project, tx, id);
