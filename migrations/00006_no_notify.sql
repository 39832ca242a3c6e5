-- +goose Up
-- Nodes send notifications of events after the commit, over a connection of their own: NOTIFY within the transaction lets all
-- commits of the server wait for each other. Nodes of the release before look once a second at the latest.
SET LOCAL lock_timeout = '5s';

DROP TRIGGER event_notify ON event;
DROP FUNCTION gybe_event_notify();
