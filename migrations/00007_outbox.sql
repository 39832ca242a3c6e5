-- +goose Up
-- What the filters of subscriptions match, as it was when the message was written: the instance can have changed, or be gone, when
-- the message is delivered. NULL in messages of nodes of the release before.
SET LOCAL lock_timeout = '5s';

ALTER TABLE outbox
    ADD COLUMN vnfd_id          text,
    ADD COLUMN provider         text,
    ADD COLUMN product_name     text,
    ADD COLUMN software_version text,
    ADD COLUMN vnfd_version     text,
    ADD COLUMN instance_name    text,
    ADD COLUMN operation        text,
    ADD COLUMN operation_state  text;
-- Old messages are deleted by age.
CREATE INDEX outbox_time ON outbox USING brin (time);
