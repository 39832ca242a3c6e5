-- +goose Up
-- What is filtered, locked or joined has a typed column; documents are jsonb; what can hold a secret is bytea,
-- sealed by the key ring before it gets here. A table whose rows change often leaves room in its pages, so that
-- an update of a column without an index stays in the page.
SET LOCAL lock_timeout = '5s';

CREATE TABLE vnf_package (
    id                uuid PRIMARY KEY,
    version           bigint      NOT NULL DEFAULT 1,
    created           timestamptz NOT NULL DEFAULT now(),
    updated           timestamptz NOT NULL DEFAULT now(),
    onboarding_state  text        NOT NULL,
    operational_state text        NOT NULL,
    user_defined_data jsonb,
    upload_token      text,
    upload_lease      timestamptz,
    digest            text, -- of the archive that the package needs
    size              bigint,
    vnfd_id           text CONSTRAINT vnf_package_vnfd_id UNIQUE, -- set while ONBOARDED
    onboarded         jsonb,
    failure           jsonb,
    -- The one job that may onboard the package.
    job_id            bigint
) WITH (fillfactor = 80);
CREATE INDEX vnf_package_digest ON vnf_package (digest) WHERE digest IS NOT NULL;
CREATE INDEX vnf_package_busy ON vnf_package (id) WHERE onboarding_state IN ('UPLOADING', 'PROCESSING');

-- Models of archives by content; a cache.
CREATE TABLE vnf_package_model (
    digest text,
    format integer,
    model  jsonb NOT NULL,
    PRIMARY KEY (digest, format)
);

CREATE TABLE vnf_instance (
    id                      uuid PRIMARY KEY,
    version                 bigint      NOT NULL DEFAULT 1,
    created                 timestamptz NOT NULL,
    updated                 timestamptz NOT NULL,
    name                    text        NOT NULL,
    description             text        NOT NULL,
    vnfd_id                 text        NOT NULL,
    vnf_pkg_id              uuid        NOT NULL CONSTRAINT vnf_instance_pkg REFERENCES vnf_package,
    provider                text        NOT NULL,
    product_name            text        NOT NULL,
    software_version        text        NOT NULL,
    vnfd_version            text        NOT NULL,
    state                   text        NOT NULL,
    holds_resources         boolean     NOT NULL,
    vim_connections         bytea, -- sealed
    configurable_properties jsonb,
    metadata                jsonb,
    extensions              jsonb,
    instantiated            jsonb,
    inventory               jsonb,
    -- Keyed hash of the above: a tick that changed nothing writes nothing.
    fingerprint             bytea       NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX vnf_instance_by_pkg ON vnf_instance (vnf_pkg_id);
CREATE INDEX vnf_instance_name ON vnf_instance (name);

-- Operations outlive their instance, so there is no foreign key.
CREATE TABLE vnf_lcm_op_occ (
    id               uuid PRIMARY KEY,
    instance_id      uuid        NOT NULL,
    type             text        NOT NULL,
    state            text        NOT NULL,
    state_entered    timestamptz NOT NULL,
    started          timestamptz NOT NULL,
    updated          timestamptz NOT NULL,
    version          bigint      NOT NULL DEFAULT 1,
    automatic        boolean     NOT NULL DEFAULT false,
    params           bytea, -- sealed
    phase            text        NOT NULL DEFAULT '',
    run              integer     NOT NULL DEFAULT 0,
    failed_in        text        NOT NULL DEFAULT '',
    epoch            bigint      NOT NULL DEFAULT 0,
    node             text        NOT NULL DEFAULT '',
    -- The one job that may advance the operation; a job with another id is stale and does nothing.
    job_id           bigint,
    waiting          text        NOT NULL DEFAULT '',
    deadline         timestamptz,
    granted          jsonb,
    error            jsonb,
    resource_changes jsonb,
    changed_info     bytea  -- sealed
) WITH (fillfactor = 60);
-- At most one operation holds an instance (lcm.Active).
CREATE UNIQUE INDEX vnf_lcm_op_occ_active ON vnf_lcm_op_occ (instance_id)
    WHERE state IN ('STARTING', 'PROCESSING', 'ROLLING_BACK', 'FAILED_TEMP');
-- What has to have a job (lcm.Running); small, whatever the size of the table.
CREATE INDEX vnf_lcm_op_occ_running ON vnf_lcm_op_occ (id)
    WHERE state IN ('STARTING', 'PROCESSING', 'ROLLING_BACK');
CREATE INDEX vnf_lcm_op_occ_order ON vnf_lcm_op_occ (started, id);
CREATE INDEX vnf_lcm_op_occ_instance ON vnf_lcm_op_occ (instance_id, started, id);
CREATE INDEX vnf_lcm_op_occ_state ON vnf_lcm_op_occ (state, started, id);

CREATE TABLE lcm_op_phase (
    op_id    uuid        NOT NULL REFERENCES vnf_lcm_op_occ ON DELETE CASCADE,
    run      integer     NOT NULL,
    name     text        NOT NULL,
    seq      bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    state    text        NOT NULL,
    attempts integer     NOT NULL,
    failing  integer     NOT NULL,
    started  timestamptz NOT NULL,
    finished timestamptz,
    detail   text        NOT NULL,
    error    jsonb,
    PRIMARY KEY (op_id, run, name)
) WITH (fillfactor = 80);

CREATE TABLE lcm_op_step (
    id         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    op_id      uuid        NOT NULL REFERENCES vnf_lcm_op_occ ON DELETE CASCADE,
    run        integer     NOT NULL,
    phase      text        NOT NULL,
    name       text        NOT NULL,
    target     text        NOT NULL,
    state      text        NOT NULL,
    attempts   integer     NOT NULL,
    started    timestamptz NOT NULL,
    finished   timestamptz,
    detail     text        NOT NULL DEFAULT '',
    checkpoint jsonb,
    error      jsonb,
    UNIQUE (op_id, run, phase, name, target)
) WITH (fillfactor = 80);

-- The feed that console and CLI follow. Order and cursor are (tx, seq); a reader takes only rows of transactions below
-- the oldest one still running, so that nothing can appear before its cursor later.
CREATE TABLE event (
    tx          xid8        NOT NULL DEFAULT pg_current_xact_id(),
    seq         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    time        timestamptz NOT NULL DEFAULT now(),
    kind        text        NOT NULL,
    instance_id uuid,
    op_id       uuid,
    package_id  uuid,
    body        jsonb       NOT NULL,
    PRIMARY KEY (tx, seq)
);
CREATE INDEX event_op ON event (op_id, tx, seq) WHERE op_id IS NOT NULL;
CREATE INDEX event_time ON event USING brin (time);

-- +goose StatementBegin
CREATE FUNCTION gybe_event_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('gybe_event', '');
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER event_notify AFTER INSERT ON event FOR EACH STATEMENT EXECUTE FUNCTION gybe_event_notify();

-- gybe_fence ends the transaction with GY001 when epoch is not the operation's newest claim, and keeps the next claim
-- out until the transaction ends. It is a function so that a pipeline of statements stops at it.
-- +goose StatementBegin
CREATE FUNCTION gybe_fence(op uuid, claim bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM vnf_lcm_op_occ WHERE id = op AND epoch = claim FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'operation % is not held by claim %', op, claim USING ERRCODE = 'GY001';
    END IF;
END $$;
-- +goose StatementEnd

-- Notifications, one row each, in the transaction of the change; fanned out to the subscriptions afterwards,
-- in order of seq per operation.
CREATE TABLE outbox (
    id          uuid PRIMARY KEY,
    seq         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    kind        text        NOT NULL,
    instance_id uuid,
    op_id       uuid,
    time        timestamptz NOT NULL,
    body        jsonb       NOT NULL,
    fanned_out  timestamptz
);
CREATE INDEX outbox_due ON outbox (seq) WHERE fanned_out IS NULL;

CREATE TABLE subscription (
    id        uuid PRIMARY KEY,
    version   bigint      NOT NULL DEFAULT 1,
    created   timestamptz NOT NULL,
    updated   timestamptz NOT NULL,
    callback  text        NOT NULL,
    verbosity text        NOT NULL DEFAULT '',
    filter    jsonb,
    auth      bytea  -- sealed
);

CREATE TABLE vim (
    id          uuid PRIMARY KEY,
    version     bigint      NOT NULL DEFAULT 1,
    created     timestamptz NOT NULL,
    updated     timestamptz NOT NULL,
    name        text        NOT NULL CONSTRAINT vim_name UNIQUE,
    description text        NOT NULL,
    owner       uuid, -- the instance that made it
    type        text        NOT NULL,
    is_default  boolean     NOT NULL,
    connection  bytea       NOT NULL -- sealed
);
CREATE UNIQUE INDEX vim_one_default ON vim (is_default) WHERE is_default;
CREATE INDEX vim_owner ON vim (owner) WHERE owner IS NOT NULL;

CREATE TABLE ssh_host_key (
    vnfc_id    text PRIMARY KEY,
    algorithm  text        NOT NULL,
    key        bytea       NOT NULL, -- public
    first_seen timestamptz NOT NULL DEFAULT now(),
    source     text        NOT NULL
);

-- A node is one run of a process. It holds the advisory lock (class of engine, num) as long as it lives.
CREATE TABLE node (
    id      text PRIMARY KEY,
    num     integer     NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE,
    name    text        NOT NULL,
    address text        NOT NULL,
    version text        NOT NULL,
    started timestamptz NOT NULL DEFAULT now(),
    seen    timestamptz NOT NULL DEFAULT now(),
    ended   timestamptz
);
CREATE INDEX node_alive ON node (num) WHERE ended IS NULL;

-- One sealed constant per key in use: a node with a wrong or missing key finds out before it serves.
CREATE TABLE secret_check (
    key_id text PRIMARY KEY,
    sealed bytea       NOT NULL,
    made   timestamptz NOT NULL DEFAULT now()
);
