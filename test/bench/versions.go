package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// compared is the number of instances of the comparison: one page of version 1.
	compared = 100
	// versionRounds is how often the versions take turns, so that both meet the same load of the machine.
	versionRounds = 7
	// versionAim is how much CPU version 1 may take of that of version 2.
	versionAim = 1.2
)

// versions compares the same requests in both versions of the lifecycle interface.
func (b *bench) versions(ctx context.Context, dir string) error {
	ops, op, err := b.instantiated(ctx, dir, compared)
	if err != nil {
		return err
	}
	i, err := b.api.Instance(ctx, op.VnfInstanceID)
	if err != nil {
		return err
	}
	vnfd := i.VnfdID
	for _, r := range []struct {
		what, path string
		n          int
	}{
		{"GET an instantiated instance", "/vnf_instances/" + op.VnfInstanceID, 1500},
		{"GET an operation", "/vnf_lcm_op_occs/" + op.ID, 1500},
		{"GET list of instances", "/vnf_instances?filter=(eq,vnfdId," + vnfd + ")", 150},
		{"GET list, all_fields", "/vnf_instances?all_fields&filter=(eq,vnfdId," + vnfd + ")", 60},
		{"GET list of operations, all_fields", "/vnf_lcm_op_occs?all_fields", 60},
	} {
		if err := b.compareVersions(ctx, r.what, r.n, func(ctx context.Context, version string) error {
			return b.fetchVersion(ctx, version, r.path)
		}); err != nil {
			return err
		}
	}
	create, err := json.Marshal(map[string]string{"vnfdId": vnfd, "vnfInstanceName": "n"})
	if err != nil {
		return err
	}
	var made []string
	if err := b.compareVersions(ctx, "POST create", 150, func(ctx context.Context, version string) error {
		id, err := b.createVersion(ctx, version, string(create))
		made = append(made, id)
		return err
	}); err != nil {
		return err
	}
	for _, id := range made {
		if err := b.api.DeleteInstance(ctx, id); err != nil {
			return err
		}
	}
	return b.removeAll(ctx, ops)
}

// compareVersions measures a request in turns, and shows the median of each version.
func (b *bench) compareVersions(
	ctx context.Context, what string, n int, send func(ctx context.Context, version string) error,
) error {
	took := map[string][]time.Duration{}
	for round := range versionRounds + 1 { // the first one warms up
		for _, version := range []string{"v2", "v1"} {
			before, err := b.node.Usage()
			if err != nil {
				return err
			}
			for range n {
				if err := send(ctx, version); err != nil {
					return err
				}
			}
			after, err := b.node.Usage()
			if err != nil {
				return err
			}
			if round > 0 {
				took[version] = append(took[version], (after.CPU-before.CPU)/time.Duration(n))
			}
		}
	}
	for _, t := range took {
		slices.Sort(t)
	}
	v1, v2 := took["v1"][versionRounds/2], took["v2"][versionRounds/2]
	b.row(
		what+", version 1 against 2", fmt.Sprintf("%d instances", compared),
		fmt.Sprintf("%s CPU against %s, %.2f ×", ms(v1), ms(v2), float64(v1)/float64(v2)),
		fmt.Sprintf("aim ≤ %.1f ×", versionAim),
	)
	return nil
}

// versionHeaders are the Version headers of the versions.
var versionHeaders = map[string]string{"v1": "1.3.0", "v2": "2.0.0"}

func (b *bench) fetchVersion(ctx context.Context, version, path string) error {
	_, err := b.sendVersion(ctx, http.MethodGet, version, path, "", http.StatusOK)
	return err
}

// createVersion creates an instance, and returns its id.
func (b *bench) createVersion(ctx context.Context, version, body string) (string, error) {
	h, err := b.sendVersion(ctx, http.MethodPost, version, "/vnf_instances", body, http.StatusCreated)
	location := h.Get("Location")
	return location[strings.LastIndex(location, "/")+1:], err
}

func (b *bench) sendVersion(
	ctx context.Context, method, version, path, body string, want int,
) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.node.URL+"/vnflcm/"+version+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Version", versionHeaders[version])
	req.Header.Set("Content-Type", "application/json")
	resp, err := readers.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != want {
		err = fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return resp.Header, err
}
