package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// operations measures what gybe adds to an operation when the cloud answers at once.
func (b *bench) operations(ctx context.Context, dir string) error {
	vnfd, params, err := b.plainPackage(ctx, dir)
	if err != nil {
		return err
	}
	const n = 20
	before, err := b.node.Usage()
	if err != nil {
		return err
	}
	if err := b.stack.Control(ctx, http.MethodDelete, "/sim/calls", nil, nil); err != nil {
		return err
	}
	var took []time.Duration
	for range n {
		ids, err := b.instantiate(ctx, vnfd, params, 1)
		if err != nil {
			return err
		}
		d, err := stack.Await(ctx, b.api, ids...)
		if err != nil {
			return err
		}
		took = append(took, d...)
	}
	after, err := b.node.Usage()
	if err != nil {
		return err
	}
	slices.Sort(took)
	b.row(
		"instantiate, one after another",
		fmt.Sprintf("%d runs", n),
		fmt.Sprintf(
			"median %s, worst %s, %s CPU",
			ms(took[n/2]),
			ms(took[n-1]),
			ms((after.CPU-before.CPU)/n),
		),
		"aim ≤ 60 ms; Tacker 3.0-6.1 s, 2.0 s CPU",
	)
	var calls struct {
		Total int `json:"total"`
	}
	if err := b.stack.Control(ctx, http.MethodGet, "/sim/calls", nil, &calls); err != nil {
		return err
	}
	b.row("calls to the VIM per instantiate", "", fmt.Sprintf("%.1f", float64(calls.Total)/n), "")
	return b.atOnce(ctx, vnfd, params)
}

// atOnce measures many instantiations at the same time.
func (b *bench) atOnce(ctx context.Context, vnfd string, params json.RawMessage) error {
	for _, many := range []int{max(b.parallel/10, 1), b.parallel} {
		before, err := b.node.Usage()
		if err != nil {
			return err
		}
		began := time.Now()
		ids, err := b.instantiate(ctx, vnfd, params, many)
		if err != nil {
			return err
		}
		if _, err := stack.Await(ctx, b.api, ids...); err != nil {
			return err
		}
		wall := time.Since(began)
		after, err := b.node.Usage()
		if err != nil {
			return err
		}
		b.row(
			"instantiate, all at once",
			strconv.Itoa(many),
			fmt.Sprintf(
				"%.2f s for all, %s CPU each",
				wall.Seconds(),
				ms((after.CPU-before.CPU)/time.Duration(many)),
			),
			"aim 100 in ≤ 3 s; Tacker 10 in 43-48 s",
		)
		b.row("resident memory, highest", fmt.Sprintf("%d at once", many), mib(after.Peak),
			"aim ≤ 60 MiB; without pages of the program's file now "+mib(after.Own))
	}
	return nil
}

// instantiate creates instances and starts their instantiation; it returns the operations.
func (b *bench) instantiate(ctx context.Context, vnfd string, params json.RawMessage, n int) ([]string, error) {
	var ops []string
	for range n {
		i, err := b.api.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: vnfd})
		if err != nil {
			return nil, err
		}
		op, err := b.api.Instantiate(ctx, i.ID, params)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// plainPackage onboards the plain package, once, and makes an instantiation request for it.
func (b *bench) plainPackage(ctx context.Context, dir string) (vnfd string, params json.RawMessage, err error) {
	if vnfd, err = b.upload(ctx, dir, plain); err == nil {
		params, err = b.params()
	}
	return vnfd, params, err
}

// params is the instantiation request of the plain package.
func (b *bench) params() (json.RawMessage, error) {
	return json.Marshal(map[string]any{
		"flavourId":         "default",
		"vimConnectionInfo": map[string]any{"vim1": stack.VimConnection(b.stack.Sim)},
		"additionalParams": map[string]any{
			"lcm-operation-user-data":       "./UserData/userdata_standard.py",
			"lcm-operation-user-data-class": "StandardUserData",
		},
		"extVirtualLinks": []any{map[string]any{
			"id": "net0", "resourceId": b.stack.Sim.Net0ID,
			"extCps": []any{map[string]any{"cpdId": "VDU1_CP1", "cpConfig": map[string]any{"VDU1_CP1": map[string]any{
				"cpProtocolData": []any{map[string]any{
					"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{
						"ipAddresses": []any{map[string]any{"type": "IPV4", "numDynamicAddresses": 1}},
					},
				}},
			}}}},
		}},
	})
}
