package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// shown is the number of instances that are listed with all attributes, which is the default page.
const shown = 200

// reads measures what polling clients ask for when instances are instantiated: one instance, one operation, and lists
// of both.
func (b *bench) reads(ctx context.Context, dir string) (err error) {
	ops, op, err := b.instantiated(ctx, dir, shown)
	if err != nil {
		return err
	}
	page := func(ctx context.Context) error { _, _, err := b.fetch(ctx, "/vnflcm/v2/vnf_instances", ""); return err }
	if err := b.measure(ctx, "GET list of instances", "a page of 100", "aim ≤ 0.6 ms CPU", 300, 1, page); err != nil {
		return err
	}
	if err := b.measureFloor(ctx, op.VnfInstanceID); err != nil {
		return err
	}
	if err := b.measureReads(ctx, op); err != nil {
		return err
	}
	return b.removeAll(ctx, ops)
}

// measureReads asks a node of its own, whose pages have the default size.
func (b *bench) measureReads(ctx context.Context, op *sol.VnfLcmOpOcc) error {
	node, err := b.stack.AddNode(ctx, fmt.Sprintf("GYBE_LIMITS_PAGE_SIZE=%d", shown))
	if err != nil {
		return err
	}
	api, err := client.New(node.URL, nil)
	if err != nil {
		return err
	}
	b.node, node = node, b.node
	b.api, api = api, b.api
	defer func() { b.node, b.api = node, api }()
	const v2 = "/vnflcm/v2"
	one := v2 + "/vnf_instances/" + op.VnfInstanceID
	operation := v2 + "/vnf_lcm_op_occs/" + op.ID
	for _, path := range []string{one, operation} {
		get := func(ctx context.Context) error { _, _, err := b.fetch(ctx, path, ""); return err }
		if err := b.measure(ctx, "GET "+path[len(v2):strings.LastIndex(path, "/")]+", 8 clients",
			fmt.Sprintf("%d instances", shown), "aim ≤ 0.2 ms CPU", 6000, 8, get); err != nil {
			return err
		}
	}
	tag, _, err := b.fetch(ctx, one, "")
	if err != nil {
		return err
	}
	for _, r := range []struct {
		what, path, tag, aim string
		n                    int
	}{
		{"GET an instantiated instance", one, "", "aim ≤ 0.2 ms CPU", 3000},
		{"GET it with If-None-Match", one, tag, "", 3000},
		{"GET an operation", operation, "", "aim ≤ 0.2 ms CPU", 3000},
		{"GET list of instances", v2 + "/vnf_instances", "", "", 300},
		{"GET list of operations", v2 + "/vnf_lcm_op_occs", "", "", 300},
		{"GET list, all_fields", v2 + "/vnf_instances?all_fields", "", "aim ≤ 5 ms CPU", 200},
		{"GET list, fields=metadata", v2 + "/vnf_instances?fields=metadata", "", "aim ≤ 5 ms CPU", 200},
		{
			"GET list, fields=instantiatedVnfInfo/scaleStatus",
			v2 + "/vnf_instances?fields=instantiatedVnfInfo/scaleStatus", "", "", 200,
		},
		{"GET list, exclude_fields=metadata", v2 + "/vnf_instances?exclude_fields=metadata", "", "", 200},
		{"GET list, filter on metadata", v2 + "/vnf_instances?filter=(eq,metadata/none,x)", "", "", 200},
	} {
		_, size, err := b.fetch(ctx, r.path, r.tag)
		if err != nil {
			return err
		}
		get := func(ctx context.Context) error { _, _, err := b.fetch(ctx, r.path, r.tag); return err }
		if err := b.measure(ctx, r.what, fmt.Sprintf("%d instances, %d bytes", shown, size), r.aim, r.n, 1,
			get); err != nil {
			return err
		}
	}
	return b.node.Stop(20 * time.Second)
}

// readers keeps a connection for each of eight clients.
var readers = &http.Client{Transport: &http.Transport{
	MaxIdleConnsPerHost: 8, DisableCompression: true,
}}

// fetch gets a resource, or 304 if tag is not "", and returns its entity tag and size.
func (b *bench) fetch(ctx context.Context, path, tag string) (string, int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.node.URL+path, nil)
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Version", "2.0.0")
	want := http.StatusOK
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
		want = http.StatusNotModified
	}
	resp, err := readers.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != want {
		err = fmt.Errorf("GET %s: %s", strings.SplitN(path, "?", 2)[0], resp.Status)
	}
	return resp.Header.Get("ETag"), n, err
}

// removeAll terminates and deletes the instances of operations.
func (b *bench) removeAll(ctx context.Context, ops []string) error {
	var ids, ends []string
	for _, id := range ops {
		op, err := b.api.Operation(ctx, id)
		if err != nil {
			return err
		}
		end, err := b.api.Terminate(
			ctx, op.VnfInstanceID, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful},
		)
		if err != nil {
			return err
		}
		ids, ends = append(ids, op.VnfInstanceID), append(ends, end)
	}
	if _, err := stack.Await(ctx, b.api, ends...); err != nil {
		return err
	}
	for _, id := range ids {
		if err := b.api.DeleteInstance(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// instantiated instantiates n instances of the plain package, and returns the ids of their operations and the first
// operation.
func (b *bench) instantiated(ctx context.Context, dir string, n int) (ops []string, first *sol.VnfLcmOpOcc, err error) {
	vnfd, params, err := b.plainPackage(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	if ops, err = b.instantiate(ctx, vnfd, params, n); err != nil {
		return nil, nil, err
	}
	if _, err := stack.Await(ctx, b.api, ops...); err != nil {
		return nil, nil, err
	}
	first, err = b.api.Operation(ctx, ops[0])
	return ops, first, err
}
