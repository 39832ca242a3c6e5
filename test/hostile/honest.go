package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// user is an honest user: a tour of requests that is repeated. Each has to succeed.
type user struct {
	name string
	tour func(ctx context.Context, do func(what string, call func() error) bool)
}

// run repeats the tour. A request that fails breaks the promise, unless the time is over.
func (u user) run(ctx context.Context, r *report) {
	// A tour that has begun is finished, so that its last request is no failure.
	calls := context.WithoutCancel(ctx)
	do := func(what string, call func() error) bool {
		began := time.Now()
		if err := call(); err != nil {
			r.count(u.name, "failed")
			r.breaks(u.name, "%s: %s", what, err)
			return false
		}
		r.count(u.name, "answered")
		r.answered(time.Since(began))
		return true
	}
	for ctx.Err() == nil {
		u.tour(calls, do)
		wait(ctx, 200*time.Millisecond)
	}
}

func (b *battle) honest() []user {
	return []user{{"honest operations", b.operations}, {"honest reads", b.reads}}
}

// operations is the life of a VNF instance.
func (b *battle) operations(ctx context.Context, do func(string, func() error) bool) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	params, err := json.Marshal(stack.PlainParams("default", "", b.stack.Sim))
	if err != nil {
		panic(err) // a map of strings
	}
	var id, op string
	if !do("create", func() error {
		i, err := b.users.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: b.vnfd, VnfInstanceName: "honest"})
		if err == nil {
			id = i.ID
		}
		return err
	}) {
		return
	}
	await := func() error { _, err := stack.Await(ctx, b.users, op); return err }
	for _, task := range []struct {
		name string
		call func() (string, error)
	}{
		{"instantiate", func() (string, error) { return b.users.Instantiate(ctx, id, params) }},
		{"terminate", func() (string, error) {
			return b.users.Terminate(ctx, id, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful})
		}},
	} {
		if !do(task.name, func() (err error) { op, err = task.call(); return err }) {
			return
		}
		began := time.Now()
		if err := await(); err != nil {
			b.breaks("honest operations", "%s did not complete: %s", task.name, err)
			return
		}
		b.count("honest operations", "completed "+task.name)
		if took := time.Since(began); took > 30*time.Second {
			b.breaks("honest operations", "%s took %s", task.name, took.Round(time.Second))
		}
	}
	do("delete", func() error { return b.users.DeleteInstance(ctx, id) })
}

// reads are the requests of users who look.
func (b *battle) reads(ctx context.Context, do func(string, func() error) bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	do("list instances", func() error {
		_, err := b.users.Instances(ctx, "(eq,vnfInstanceName,honest)", false)
		return err
	})
	do("list operations", func() error {
		_, err := b.users.Operations(ctx, "(eq,operationState,PROCESSING)", false)
		return err
	})
	do("list packages", func() error { _, err := b.users.Packages(ctx, "(eq,vnfdId,"+b.vnfd+")", false); return err })
	do("list VIMs", func() error { _, err := b.users.Vims(ctx); return err })
	do("list nodes", func() error { _, err := b.users.Nodes(ctx); return err })
	do("readyz", func() error { return b.users.Ready(ctx) })
}
