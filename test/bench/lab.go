package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/stack"
)

// lab measures on a real OpenStack, which the variables OS_* name, how much longer operations take than Heat does: one
// after the other, and those of many instances at once. It expects the networks net0 and net1, the image and the
// flavors of test/lab/openstack.
func (b *bench) lab(ctx context.Context, dir string) (err error) {
	p, heat, err := connect(ctx)
	if err != nil {
		return err
	}
	db, err := devpg.Start(ctx, devpg.Options{Dir: filepath.Join(dir, "pg")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Stop()) }()
	log, err := os.Create(filepath.Join(dir, "node.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	metrics, err := stack.FreePort(ctx)
	if err != nil {
		return err
	}
	b.node, err = stack.StartNode(ctx, stack.NodeOptions{
		Bin: b.bin, ID: "node-1", Database: db.URL(), Data: filepath.Join(dir, "content"), SSHPort: 22, Log: log,
		Env: []string{"GYBE_DEBUG_LISTEN=127.0.0.1:" + metrics},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.node.Stop(20*time.Second)) }()
	if b.api, err = client.New(b.node.URL, nil); err != nil {
		return err
	}
	if b.wants("tour") {
		if err := b.toursInLab(ctx, dir, p, heat); err != nil {
			return err
		}
	}
	if !b.wants("crowd") {
		return nil
	}
	calls := &meter{url: "http://127.0.0.1:" + metrics + "/metrics"}
	work := &heatWork{heat: heat, ids: map[string]string{}}
	return b.together(ctx, dir, surroundings{place: p, calls: calls.calls, heat: work.since})
}

// toursInLab runs every operation on instances, one after the other.
func (b *bench) toursInLab(ctx context.Context, dir string, p place, heat *gophercloud.ServiceClient) error {
	ours, theirs := map[string][]time.Duration{}, map[string][]time.Duration{}
	for number := range b.instances {
		err := b.around(ctx, dir, p, number, func(s stop, run func(context.Context) (time.Duration, error)) error {
			w := watchStack(ctx, heat, "vnf-"+b.current)
			took, err := run(ctx)
			busy := w.stop()
			if err != nil {
				return err
			}
			fmt.Printf("%-18s %6.2f s, Heat %6.2f s\n", s.name, took.Seconds(), busy.Seconds())
			ours[s.name], theirs[s.name] = append(ours[s.name], took), append(theirs[s.name], busy)
			return w.err
		})
		if err != nil {
			return err
		}
	}
	for _, s := range stops {
		took, busy := median(ours[s.name]), median(theirs[s.name])
		b.row(
			s.name,
			fmt.Sprintf("%d tours", b.instances),
			fmt.Sprintf("%.2f s", took.Seconds()),
			fmt.Sprintf("Heat %.2f s, added %.2f s", busy.Seconds(), (took-busy).Seconds()),
		)
	}
	return nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// connect logs in to the OpenStack of the environment.
func connect(ctx context.Context) (place, *gophercloud.ServiceClient, error) {
	env := os.Getenv
	opts := gophercloud.AuthOptions{
		IdentityEndpoint: env(
			"OS_AUTH_URL",
		), Username: env("OS_USERNAME"), Password: env("OS_PASSWORD"), TenantName: env("OS_PROJECT_NAME"),
		DomainID: "default", AllowReauth: true,
	}
	if opts.IdentityEndpoint == "" {
		return place{}, nil, errors.New("OS_AUTH_URL is not set: source the openrc of the lab")
	}
	provider, err := openstack.AuthenticatedClient(ctx, opts)
	if err != nil {
		return place{}, nil, fmt.Errorf("log in at %s: %w", opts.IdentityEndpoint, err)
	}
	region := gophercloud.EndpointOpts{Region: env("OS_REGION_NAME")}
	heat, err := openstack.NewOrchestrationV1(provider, region)
	if err != nil {
		return place{}, nil, err
	}
	neutron, err := openstack.NewNetworkV2(provider, region)
	if err != nil {
		return place{}, nil, err
	}
	var nets struct {
		Networks []struct{ ID, Name string }
	}
	if err := get(ctx, neutron, neutron.ServiceURL("networks"), &nets); err != nil {
		return place{}, nil, err
	}
	p := place{
		vim: sol.VimConnectionInfo{
			VimType:       "ETSINFV.OPENSTACK_KEYSTONE.V_3",
			InterfaceInfo: sol.KeyValuePairs{"endpoint": opts.IdentityEndpoint},
			AccessInfo: sol.KeyValuePairs{
				"username": opts.Username, "password": opts.Password, "project": opts.TenantName,
				"region": env("OS_REGION_NAME"), "userDomainId": "default", "projectDomainId": "default",
			},
		},
		address: func(tour int) string { return fmt.Sprintf("10.10.1.%d", 200+tour) },
	}
	for _, n := range nets.Networks {
		switch n.Name {
		case "net0":
			p.net0 = n.ID
		case "net1":
			p.net1 = n.ID
		}
	}
	if p.net0 == "" || p.net1 == "" {
		return place{}, nil, errors.New("the cloud has no networks net0 and net1; start the lab of test/lab/openstack")
	}
	return p, heat, nil
}

// get reads a resource of a service.
func get(ctx context.Context, s *gophercloud.ServiceClient, url string, out any) error {
	res, err := s.Get(ctx, url, out, nil)
	if err != nil {
		return fmt.Errorf("GET %s: %w", url, err)
	}
	return res.Body.Close()
}

// watch sums up how long Heat works on a stack.
type watch struct {
	end  chan struct{}
	over chan struct{}
	busy time.Duration
	err  error
}

// look is the time between two looks at the stack: the watch is as exact as that.
const look = 150 * time.Millisecond

// watchStack begins to look at a stack that may not be there yet.
func watchStack(ctx context.Context, heat *gophercloud.ServiceClient, name string) *watch {
	w := &watch{end: make(chan struct{}), over: make(chan struct{})}
	go func() {
		defer close(w.over)
		tick := time.NewTicker(look)
		defer tick.Stop()
		var since time.Time // of the action under way
		for {
			var body struct {
				Stacks []struct {
					Status string `json:"stack_status"`
				}
			}
			if w.err = get(ctx, heat, heat.ServiceURL("stacks")+"?name="+name, &body); w.err != nil {
				return
			}
			working := len(body.Stacks) > 0 && strings.HasSuffix(body.Stacks[0].Status, "_IN_PROGRESS")
			switch {
			case working && since.IsZero():
				since = time.Now()
			case !working && !since.IsZero():
				w.busy += time.Since(since)
				since = time.Time{}
			}
			select {
			case <-w.end:
				if !since.IsZero() {
					w.busy += time.Since(since)
				}
				return
			case <-tick.C:
			}
		}
	}()
	return w
}

// stop ends the watch and returns how long Heat worked.
func (w *watch) stop() time.Duration {
	close(w.end)
	<-w.over
	return w.busy
}
