package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/test/stack"
)

const (
	// listedInstances and listedOperations are rows that lists with filters have to select from.
	listedInstances  = 10_000
	listedOperations = 1_000_000
	// listRequests is how often each list is read.
	listRequests = 60
)

// fillLists copies one instance and its operation many times. One operation in a hundred failed, one in 200 is HEAL,
// one in 10,000 is automatic.
var fillLists = []string{
	`INSERT INTO vnf_instance (id, created, updated, version, name, description, vnfd_id, vnf_pkg_id, provider, product_name,
			software_version, vnfd_version, state, holds_resources, fingerprint, project, rendered_brief, rendered_version, rendered_format, rendered_flavour)
		SELECT n.id, i.created, i.updated, i.version, 'vnf-' || n.n, 'site ' || n.n % 100, i.vnfd_id, i.vnf_pkg_id, i.provider,
			i.product_name, i.software_version, i.vnfd_version, i.state, false, i.fingerprint, i.project,
			replace(i.rendered_brief, i.id::text, n.id::text), i.rendered_version, i.rendered_format, i.rendered_flavour
		FROM vnf_instance i, LATERAL (SELECT n, ('10000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid AS id
			FROM generate_series(1, $2::int) n) n WHERE i.id = $1`,
	`INSERT INTO vnf_lcm_op_occ (id, instance_id, type, state, state_entered, started, updated, version, automatic, project,
			granted, rendered_brief, rendered_version, rendered_format, rendered_events)
		SELECT n.id, ('10000000-0000-4000-8000-' || lpad((n.n % $3 + 1)::text, 12, '0'))::uuid,
			CASE WHEN n.n % 200 = 0 THEN 'HEAL' ELSE 'SCALE' END, CASE WHEN n.n % 100 = 7 THEN 'FAILED' ELSE 'COMPLETED' END,
			o.state_entered + n.n * interval '1 second', o.started + n.n * interval '1 second', o.updated, o.version,
			n.n % 10000 = 3, o.project, jsonb_build_object('id', n.id), replace(o.rendered_brief, o.id::text, n.id::text), o.rendered_version,
			o.rendered_format, o.rendered_events
		FROM vnf_lcm_op_occ o, LATERAL (SELECT n, ('20000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid AS id
			FROM generate_series(1, $2::int) n) n WHERE o.id = $1`,
}

// lists measures lists with filters.
func (b *bench) lists(ctx context.Context, dir string) error {
	vnfd, params, err := b.plainPackage(ctx, dir)
	if err != nil {
		return err
	}
	ops, err := b.instantiate(ctx, vnfd, params, 1)
	if err != nil {
		return err
	}
	if _, err := stack.Await(ctx, b.api, ops...); err != nil {
		return err
	}
	op, err := b.api.Operation(ctx, ops[0])
	if err != nil {
		return err
	}
	db, err := pgx.Connect(ctx, b.stack.Database.URL())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }()
	began := time.Now()
	if _, err := db.Exec(ctx, fillLists[0], op.VnfInstanceID, listedInstances); err != nil {
		return err
	}
	if _, err := db.Exec(ctx, fillLists[1], op.ID, b.rows, listedInstances); err != nil {
		return err
	}
	if _, err := db.Exec(ctx, "VACUUM ANALYZE vnf_instance, vnf_lcm_op_occ"); err != nil {
		return err
	}
	b.row("rows inserted", fmt.Sprintf("%d instances, %d operations", listedInstances, b.rows),
		time.Since(began).Round(time.Second).String(), "")
	queries := b.listQueries(op.StartTime)
	for _, q := range queries {
		if err := b.measureList(ctx, q); err != nil {
			return err
		}
	}
	return b.explainLists(ctx, db, queries)
}

// listQuery is a list with a filter.
type listQuery struct{ resource, filter string }

func (q listQuery) path() string {
	return "/vnflcm/v2/" + q.resource + "?filter=" + url.QueryEscape(q.filter)
}

func (b *bench) listQueries(start time.Time) (out []listQuery) {
	late := start.Add(time.Duration(b.rows)*time.Second - time.Minute).UTC().Format(time.RFC3339)
	hour := start.Add(time.Duration(b.rows)*time.Second - time.Hour).UTC().Format(time.RFC3339)
	middle := start.Add(time.Duration(b.rows) * time.Second / 2).UTC().Format(time.RFC3339)
	const instance = "10000000-0000-4000-8000-000000000042"
	for _, f := range []string{
		"(eq,id," + instance + ")", "(eq,vnfInstanceName,vnf-42)", "(in,vnfInstanceName,vnf-42,vnf-43)",
		"(cont,vnfInstanceName,-999)", "(eq,vnfInstanceDescription,'site 42')",
		"(eq,instantiationState,NOT_INSTANTIATED)",
		"(gt,vnfInstanceName,vnf-9)", "(eq,vnfProvider,none)",
	} {
		out = append(out, listQuery{"vnf_instances", f})
	}
	for _, f := range []string{
		"(eq,vnfInstanceId," + instance + ")", "(eq,operationState,FAILED)",
		"(eq,operation,HEAL);(eq,operationState,FAILED)",
		"(eq,operation,HEAL)", "(in,operation,HEAL,TERMINATE)", "(neq,operationState,COMPLETED)",
		"(eq,isAutomaticInvocation,true)",
		"(eq,isCancelPending,true)", "(gt,startTime," + late + ")", "(gt,stateEnteredTime," + late + ")",
		"(gt,stateEnteredTime," + hour + ")",
		"(gt,startTime," + middle + ");(lt,startTime," + late + ");(eq,operationState,COMPLETED)",
		"(cont,id,-000000777)",
		"(eq,grantId,none)", "(eq,grantId,20000000-0000-4000-8000-000000000777)",
	} {
		out = append(out, listQuery{"vnf_lcm_op_occs", f})
	}
	return out
}

// measureList reads the first page of a list many times.
func (b *bench) measureList(ctx context.Context, q listQuery) error {
	took := make([]time.Duration, listRequests)
	var size int64
	for n := range took {
		began := time.Now()
		_, got, err := b.fetch(ctx, q.path(), "")
		if err != nil {
			return err
		}
		took[n], size = time.Since(began), got
	}
	slices.Sort(took)
	b.row(q.resource+" "+q.filter, fmt.Sprintf("%d bytes", size),
		fmt.Sprintf("p50 %s, p99 %s", ms(took[len(took)/2]), ms(took[len(took)*99/100])), "aim: p99 ≤ 50 ms")
	return nil
}

// explainLists prints the plans of the lists, as a node of its own sends them.
func (b *bench) explainLists(ctx context.Context, db *pgx.Conn, queries []listQuery) error {
	if !b.stack.Database.Owned() {
		return nil
	}
	if err := logPlans(ctx, db); err != nil {
		return err
	}
	node, err := b.stack.AddNode(ctx)
	if err != nil {
		return err
	}
	b.node, node = node, b.node
	defer func() { b.node = node }()
	for _, q := range queries {
		if err := b.plans(q.resource+" "+q.filter, []string{"SELECT o.id", "SELECT i.id"}, func() error {
			_, _, err := b.fetch(ctx, q.path(), "")
			return err
		}); err != nil {
			return err
		}
	}
	return b.node.Stop(20 * time.Second)
}
