-- +goose Up
-- Subscriptions: match keys, deliveries, and the state of each subscriber. Nodes of the release before write messages, which nodes of
-- this one deliver.
SET LOCAL lock_timeout = '5s';

-- tx tells whether a message is older than a subscription. Messages from before have 0: no subscription gets them. subject is the id of
-- the resource whose messages are delivered in order; NULL is that of the instance or operation. attributes are values for filters that
-- have no column.
ALTER TABLE outbox
    ADD COLUMN api        text NOT NULL DEFAULT 'vnflcm',
    ADD COLUMN subject    uuid,
    ADD COLUMN attributes jsonb,
    ADD COLUMN tx         xid8 NOT NULL DEFAULT '0';
ALTER TABLE outbox ALTER COLUMN tx SET DEFAULT pg_current_xact_id();
CREATE INDEX outbox_tx ON outbox (tx, seq) WHERE tx > '0';

-- conditions is the filter in the form that is evaluated, since the transactions that a new subscription does not see: it gets their
-- messages. The table was not used before.
ALTER TABLE subscription
    ADD COLUMN api         text NOT NULL DEFAULT 'vnflcm',
    ADD COLUMN api_version text NOT NULL DEFAULT '',
    ADD COLUMN conditions  jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN fingerprint bytea NOT NULL DEFAULT '',
    ADD COLUMN since       pg_snapshot;
CREATE INDEX subscription_list ON subscription (project, api, id);
CREATE INDEX subscription_same ON subscription (project, fingerprint);

-- A message finds its subscriptions by few keys, which are hashes of values that the filter names.
CREATE TABLE subscription_key (
    project         text NOT NULL,
    key             uuid NOT NULL,
    subscription_id uuid NOT NULL REFERENCES subscription ON DELETE CASCADE,
    PRIMARY KEY (key, project, subscription_id)
);
CREATE INDEX subscription_key_of ON subscription_key (subscription_id);

-- The state of the delivery to a subscriber. due is the time at which a node has to look at it: NULL while nothing is to be delivered, the
-- end of the lease while a node works on it. epoch is the number of the claim.
CREATE TABLE subscriber (
    subscription_id uuid        PRIMARY KEY REFERENCES subscription ON DELETE CASCADE,
    due             timestamptz,
    epoch           bigint      NOT NULL DEFAULT 0,
    generation      bigint      NOT NULL DEFAULT 0, -- grows when deliveries are added
    node            text        NOT NULL DEFAULT '',
    slow            boolean     NOT NULL DEFAULT false,
    failures        integer     NOT NULL DEFAULT 0,
    failing_since   timestamptz,
    error           text        NOT NULL DEFAULT ''
) WITH (fillfactor = 60);
CREATE INDEX subscriber_due ON subscriber (due) WHERE due IS NOT NULL;

-- One row for each message and subscription. The foreign key keeps messages that are not delivered.
CREATE TABLE delivery (
    subscription_id uuid        NOT NULL REFERENCES subscription ON DELETE CASCADE,
    seq             bigint      NOT NULL, -- of the message
    message_id      uuid        NOT NULL REFERENCES outbox,
    state           text        NOT NULL DEFAULT 'PENDING',
    created         timestamptz NOT NULL,
    deadline        timestamptz NOT NULL,
    attempts        integer     NOT NULL DEFAULT 0,
    attempted       timestamptz,
    ended           timestamptz,
    error           text        NOT NULL DEFAULT '',
    PRIMARY KEY (subscription_id, seq)
) WITH (fillfactor = 80);
CREATE INDEX delivery_pending ON delivery (subscription_id, seq) WHERE state = 'PENDING';
CREATE INDEX delivery_dead ON delivery (subscription_id, seq) WHERE state = 'DEAD';
CREATE INDEX delivery_backlog ON delivery (created) WHERE state = 'PENDING';
CREATE INDEX delivery_ended ON delivery (ended) WHERE state = 'DELIVERED';
CREATE INDEX delivery_message ON delivery (message_id);
