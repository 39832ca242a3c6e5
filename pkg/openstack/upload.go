package openstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// uploads are the images that this process is sending. They outlive ticks, and end with the process or the driver.
type uploads struct {
	stall time.Duration

	mu      sync.Mutex
	process string
	running map[string]*upload // by image id
	wg      sync.WaitGroup
}

// upload is one image being sent, or just sent.
type upload struct {
	cancel context.CancelCauseFunc
	sent   atomic.Int64
	size   int64 // -1 when it is not known

	done  chan struct{}
	err   error     // valid when done is closed
	ended time.Time // likewise
}

// keepResult is how long the outcome of an upload is kept for a tick that asks.
const keepResult = 10 * time.Minute

var (
	errStalled = errors.New("the image service takes no more data")
	errStopped = errors.New("the upload was stopped")
)

// id names this process, so that a checkpoint of another one is not taken for ours.
func (us *uploads) id() string {
	us.mu.Lock()
	defer us.mu.Unlock()
	if us.process == "" {
		us.process = uuid.NewString()
	}
	return us.process
}

func (us *uploads) get(image string) *upload {
	us.mu.Lock()
	defer us.mu.Unlock()
	return us.running[image]
}

// any says whether this process has uploads under way, or the outcome of one that nobody has asked for yet.
func (us *uploads) any() bool {
	us.mu.Lock()
	defer us.mu.Unlock()
	return len(us.running) > 0
}

func (us *uploads) forget(image string) {
	us.mu.Lock()
	defer us.mu.Unlock()
	delete(us.running, image)
}

// cancel stops sending an image, if this process does, and waits for the end.
func (us *uploads) cancel(image string) {
	u := us.get(image)
	if u == nil {
		return
	}
	u.cancel(errStopped)
	<-u.done
	us.forget(image)
}

func (us *uploads) close() {
	us.mu.Lock()
	for _, u := range us.running {
		u.cancel(errStopped)
	}
	us.mu.Unlock()
	us.wg.Wait()
}

// start sends f, which it closes, as the data of an image. It goes on after ctx ends, because an image can take longer than a tick.
func (us *uploads) start(ctx context.Context, s *session, image, name string, f fs.File) *upload {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	u := &upload{cancel: cancel, size: -1, done: make(chan struct{})}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		u.size = info.Size()
	}
	us.mu.Lock()
	if us.running == nil {
		us.running = map[string]*upload{}
	}
	for id, old := range us.running { // nobody asked: the operation went on without
		if over, _ := old.result(); over && time.Since(old.ended) > keepResult {
			delete(us.running, id)
		}
	}
	us.running[image] = u
	us.mu.Unlock()
	us.wg.Go(func() {
		defer cancel(nil)
		defer close(u.done)
		defer func() { _ = f.Close() }()
		u.err = us.send(ctx, s, image, name, f, u)
		u.ended = time.Now()
	})
	return u
}

// send makes the one call that carries the data. It is not given to gophercloud, which would send the rest of a half-read
// file again when the token is refused, and has no timeout but that data flows.
func (us *uploads) send(ctx context.Context, s *session, image, name string, f io.Reader, u *upload) error {
	info := callInfo{what: "upload image " + name, service: glance}
	base, err := s.base(glance)
	if err != nil {
		return err
	}
	if err := s.renew(ctx); err != nil {
		return err
	}
	info.url = base + "/images/" + segment(image) + "/file"
	flow := time.AfterFunc(us.stall, func() { u.cancel(errStalled) })
	defer flow.Stop()
	body := &counted{r: f, u: u, alive: func() { flow.Reset(us.stall) }}
	req, err := http.NewRequestWithContext(calling(ctx, glance), http.MethodPut, info.url, body)
	if err != nil {
		return fmt.Errorf("upload image %s: %w", name, err)
	}
	req.ContentLength = u.size
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set("User-Agent", "gybe")
	req.Header.Set("X-Auth-Token", s.provider.Token())
	res, err := (&http.Client{Transport: s.rt}).Do(req)
	if err != nil {
		return us.broken(ctx, info, err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, _ := io.ReadAll(res.Body)
	if res.StatusCode == http.StatusUnauthorized {
		if err := s.provider.Reauthenticate(ctx, req.Header.Get("X-Auth-Token")); err == nil {
			return &lcm.Error{Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "VIM token expired", Detail: info.what + ": the token expired; a new one is there"}
		}
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return refusal(info, gophercloud.ErrUnexpectedResponseCode{
			URL: info.url, Method: http.MethodPut, Expected: []int{http.StatusNoContent}, Actual: res.StatusCode, Body: answer, ResponseHeader: res.Header,
		})
	}
	return nil
}

// broken explains an upload that got no answer.
func (us *uploads) broken(ctx context.Context, info callInfo, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return &lcm.Error{
			Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "Image upload interrupted", Cause: err,
			Detail: fmt.Sprintf("%s: %s: %v", info.what, info.where(), cause),
		}
	}
	return info.unreachable(err)
}

// result is the outcome of an upload; over is false while it runs.
func (u *upload) result() (over bool, err error) {
	select {
	case <-u.done:
		return true, u.err
	default:
		return false, nil
	}
}

// within says whether the upload ends in this time.
func (u *upload) within(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-u.done:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

func (u *upload) progress() string {
	const mib = 1 << 20
	if u.size < 0 {
		return fmt.Sprintf("%d MiB sent", u.sent.Load()/mib)
	}
	return fmt.Sprintf("%d of %d MiB sent", u.sent.Load()/mib, (u.size+mib-1)/mib)
}

// counted is a body that says how far it is read.
type counted struct {
	r     io.Reader
	u     *upload
	alive func()
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if n > 0 {
		c.u.sent.Add(int64(n))
		c.alive()
	}
	return n, err
}
