-- +goose Up
SET LOCAL lock_timeout = '5s';
CREATE TABLE gybe_meta (id boolean PRIMARY KEY DEFAULT true CHECK (id));
