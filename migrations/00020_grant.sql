-- +goose Up
-- The grant of an NFVO: its URI, and its additionalParams (sealed JSON). vim_assets are the flavours and images that the NFVO provides
-- for the package of an instance. NULL for operations and instances without an NFVO; nodes of the release before write none.
SET LOCAL lock_timeout = '5s';

ALTER TABLE vnf_lcm_op_occ ADD COLUMN grant_href text, ADD COLUMN grant_params bytea;
ALTER TABLE vnf_instance ADD COLUMN vim_assets jsonb;
