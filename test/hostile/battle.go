package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/test/stack"
)

// plain is the sample package that honest users and attackers instantiate.
const plain = "test/packages/plain"

// battle is the node with everything that attackers and users need.
type battle struct {
	*report
	stack *stack.Stack
	url   string
	token string       // of the attackers
	http  *http.Client // of the attackers, who have a token of their own project
	users *client.Client
	// intruders use the API as attackers, with the client's types.
	intruders *client.Client
	// vnfd is the vnfdId of the package, which both projects have; archive is its file.
	vnfd, archive string
	cloud         *badCloud
}

func newBattle(ctx context.Context, s *stack.Stack, dir string, t tokens, r *report) (*battle, error) {
	b := &battle{report: r, stack: s, url: s.Node(0).URL, archive: filepath.Join(dir, "plain.zip")}
	b.token, b.http = t.attacker, clientWith(t.attacker, r)
	var err error
	if b.users, err = client.New(b.url, clientWith(t.user, r)); err != nil {
		return nil, err
	}
	if b.intruders, err = client.New(b.url, b.http); err != nil {
		return nil, err
	}
	if err := stack.BuildPackage(ctx, plain, b.archive); err != nil {
		return nil, err
	}
	for _, c := range []*client.Client{b.users, b.intruders} {
		if b.vnfd, err = stack.Onboard(ctx, c, b.archive); err != nil {
			return nil, err
		}
	}
	b.cloud = newBadCloud()
	return b, nil
}

func (b *battle) close() { b.cloud.close() }

// kind is one kind of hostile traffic. attack runs again and again, with a pause in between.
type kind struct {
	name   string
	pause  time.Duration
	attack func(ctx context.Context, name string, n int)
}

func (k kind) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		k.attack(ctx, k.name, n)
		wait(ctx, k.pause+rand.N(k.pause/2+1))
	}
}

func (b *battle) kinds() []kind {
	return []kind{
		{"announced bodies", 5 * time.Second, b.announceBodies},
		{"half headers", 5 * time.Second, b.halfHeaders},
		{"idle connections", 10 * time.Second, b.idleConnections},
		{"garbled connections", 200 * time.Millisecond, b.garbledConnection},
		{"event streams", 5 * time.Second, b.eventStreams},
		{"console pages", 500 * time.Millisecond, b.consolePage},
		{"JSON bombs", 2 * time.Second, b.jsonBomb},
		{"mutated bodies", 20 * time.Millisecond, b.mutatedBody},
		{"queries", 20 * time.Millisecond, b.query},
		{"paths and headers", 20 * time.Millisecond, b.pathAndHeaders},
		{"tokens and hosts", 50 * time.Millisecond, b.stranger},
		{"archives", time.Second, b.badArchive},
		{"silent VIM", 500 * time.Millisecond, b.silentVIM},
		{"hostile VIM", 500 * time.Millisecond, b.hostileVIM},
	}
}

// call sends one request and counts its answer. fromVIM says that the answer may be 502, 503 or 504: it is about a VIM
// that does not do what it should. The body of the answer is returned up to 1 MiB.
func (b *battle) call(ctx context.Context, kind string, fromVIM bool, req *http.Request) (int, []byte) {
	resp, err := b.http.Do(req.WithContext(ctx))
	if err != nil {
		if ctx.Err() == nil {
			b.count(kind, "no answer")
		}
		return 0, nil
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<30))
	b.check(kind, fromVIM, req, resp, raw)
	return resp.StatusCode, raw
}

// check counts an answer and notes when it breaks the promise.
func (b *battle) check(kind string, fromVIM bool, req *http.Request, resp *http.Response, raw []byte) {
	status := resp.StatusCode
	b.count(kind, strconv.Itoa(status))
	switch {
	case status < 500:
	case status == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
	case status == http.StatusInsufficientStorage:
	case fromVIM && status > http.StatusNotImplemented:
	default:
		b.breaks(kind, "%s %.200s: %d %.500s", req.Method, req.URL, status, raw)
	}
}

// request makes a request for a path of the node.
func (b *battle) request(method, path string, body []byte) (*http.Request, error) {
	req, err := http.NewRequest(method, b.url+path, bytes.NewReader(body)) //nolint:noctx // call sets it
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(path, "/vnflcm/") {
		req.Header.Set("Version", "2.0.0")
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// send is request and call for requests that are well-formed.
func (b *battle) send(ctx context.Context, kind, method, path string, body []byte) (int, []byte) {
	req, err := b.request(method, path, body)
	if err != nil {
		b.breaks(kind, "make a request: %s", err)
		return 0, nil
	}
	return b.call(ctx, kind, false, req)
}

// wait returns after a time or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// isStatus says whether err is an answer with one of these statuses.
func isStatus(err error, statuses ...int) bool {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return false
	}
	for _, s := range statuses {
		if e.Status() == s {
			return true
		}
	}
	return false
}
