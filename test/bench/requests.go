package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// plain is the package without nodes to install.
const plain = "test/packages/plain"

// requests measures single requests: CPU of gybe and wall time, and how both grow with what is in the database.
func (b *bench) requests(ctx context.Context, dir string) error {
	vnfd, err := b.upload(ctx, dir, plain)
	if err != nil {
		return err
	}
	create := func(ctx context.Context) error {
		_, err := b.api.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: vnfd, VnfInstanceName: "bench"})
		return err
	}
	first, err := b.api.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: vnfd})
	if err != nil {
		return err
	}
	get := func(ctx context.Context) error {
		_, err := b.api.Instance(ctx, first.ID)
		return err
	}
	for _, held := range []int{100, 1000} {
		with := fmt.Sprintf("%d instances", held)
		if err := b.measure(ctx, "POST create", "up to "+with, "aim ≤ 1 ms CPU; Tacker 165-213 ms CPU", held-b.made, 1,
			create); err != nil {
			return err
		}
		b.made = held
		for _, c := range []int{1, 8} {
			if err := b.measure(ctx, fmt.Sprintf("GET one, %d client(s)", c), with,
				"aim ≤ 0.1 ms CPU; Tacker 3.3-4.6 ms CPU", 3000, c, get); err != nil {
				return err
			}
		}
		if err := b.measure(ctx, "GET list, 100 a page", with, "Tacker 5.4-9.4 ms CPU", 300, 1, b.page); err != nil {
			return err
		}
	}
	return nil
}

// page gets the first page of the list, a hundred instances, as a client would.
func (b *bench) page(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.node.URL+"/vnflcm/v2/vnf_instances", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Version", "2.0.0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var list []sol.VnfInstance
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return err
	}
	if len(list) != 100 {
		return fmt.Errorf("the page has %d instances, not 100 (%s)", len(list), resp.Status)
	}
	return nil
}

// measure calls fn n times with c callers and notes CPU of gybe and wall time per call.
func (b *bench) measure(ctx context.Context, what, with, note string, n, c int, fn func(context.Context) error) error {
	for range min(n, 50) { // caches and connections
		if what != "POST create" {
			if err := fn(ctx); err != nil {
				return err
			}
		}
	}
	before, err := b.node.Usage()
	if err != nil {
		return err
	}
	began := time.Now()
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	errs := make(chan error, c)
	for range c {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := fn(ctx); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	wall := time.Since(began)
	select {
	case err := <-errs:
		return err
	default:
	}
	after, err := b.node.Usage()
	if err != nil {
		return err
	}
	cpu := (after.CPU - before.CPU) / time.Duration(n)
	b.row(
		what,
		with,
		fmt.Sprintf(
			"%s CPU, %s wall, %.0f/s",
			ms(cpu),
			ms(wall*time.Duration(c)/time.Duration(n)),
			float64(n)/wall.Seconds(),
		),
		note,
	)
	return nil
}
