-- +goose Up
-- The quota of VNF snapshots. Nodes of the release before use the function as they did.
SET LOCAL lock_timeout = '5s';

-- gybe_quota is that of 00016, and knows snapshots. Each snapshot resource counts, also an empty one: to fill it needs no room.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION gybe_quota(of_project text, resource text, addition bigint, highest bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    used bigint;
    what text;
    room CONSTANT bigint := CASE resource WHEN 'package_bytes' THEN highest ELSE 200 END;
BEGIN
    FOR look IN 1..2 LOOP
        CASE resource
        WHEN 'instances' THEN
            what := 'VNF instances are in use';
            SELECT count(*) INTO used FROM vnf_instance WHERE project = of_project;
        WHEN 'operations' THEN
            what := 'active operations are in use';
            SELECT count(*) INTO used FROM vnf_lcm_op_occ WHERE project = of_project
                AND state IN ('STARTING', 'PROCESSING', 'ROLLING_BACK', 'FAILED_TEMP');
        WHEN 'packages' THEN
            what := 'VNF packages are in use';
            SELECT count(*) INTO used FROM vnf_package WHERE project = of_project;
        WHEN 'package_bytes' THEN
            what := 'bytes of VNF packages are in use';
            SELECT coalesce(sum(size), 0) INTO used FROM vnf_package WHERE project = of_project;
        WHEN 'snapshots' THEN
            what := 'VNF snapshots are in use';
            SELECT count(*) INTO used FROM vnf_snapshot WHERE project = of_project;
        END CASE;
        IF used + addition > highest THEN
            RAISE EXCEPTION 'quota of project %: % of % %', of_project, used, highest, what USING ERRCODE = 'GY002';
        END IF;
        EXIT WHEN look = 2 OR used + addition + room <= highest;
        PERFORM pg_advisory_xact_lock(hashtextextended('gybe quota ' || resource || ' ' || of_project, 0));
    END LOOP;
END $$;
-- +goose StatementEnd
