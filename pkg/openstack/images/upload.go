package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// Uploads are the images that this process is sending. They outlive ticks, and end with the process or the driver.
type Uploads struct {
	stall time.Duration

	mu      sync.Mutex
	process string
	running map[string]*transfer // by image id
	wg      sync.WaitGroup
}

// transfer is one image being sent, or just sent.
type transfer struct {
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
	errStalled = errors.New("the image service does not accept data any more")
	errStopped = errors.New("the upload was stopped")
)

// NewUploads returns an empty set; stall is how long an upload may make no progress.
func NewUploads(stall time.Duration) *Uploads { return &Uploads{stall: stall} }

// ID names this process, so that a checkpoint of another one is not taken for ours.
func (us *Uploads) ID() string {
	us.mu.Lock()
	defer us.mu.Unlock()
	if us.process == "" {
		us.process = uuid.NewString()
	}
	return us.process
}

func (us *Uploads) get(image string) *transfer {
	us.mu.Lock()
	defer us.mu.Unlock()
	return us.running[image]
}

// any says whether this process has uploads under way, or an outcome that no tick has asked for yet.
func (us *Uploads) any() bool {
	us.mu.Lock()
	defer us.mu.Unlock()
	return len(us.running) > 0
}

func (us *Uploads) forget(image string) {
	us.mu.Lock()
	defer us.mu.Unlock()
	delete(us.running, image)
}

// cancel stops sending an image, if this process does, and waits for the end.
func (us *Uploads) cancel(image string) {
	u := us.get(image)
	if u == nil {
		return
	}
	u.cancel(errStopped)
	<-u.done
	us.forget(image)
}

// Close stops all uploads and waits for their end.
func (us *Uploads) Close() {
	us.mu.Lock()
	for _, u := range us.running {
		u.cancel(errStopped)
	}
	us.mu.Unlock()
	us.wg.Wait()
}

// start sends f, which it closes, as the data of an image. It goes on after ctx ends, because an image can take longer
// than a tick.
func (us *Uploads) start(ctx context.Context, c *cloud.Client, image, name string, f fs.File) *transfer {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	u := &transfer{cancel: cancel, size: -1, done: make(chan struct{})}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		u.size = info.Size()
	}
	us.mu.Lock()
	if us.running == nil {
		us.running = map[string]*transfer{}
	}
	for id, old := range us.running { // no tick asked for it: the operation went on without
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
		u.err = us.send(ctx, c, image, name, f, u)
		u.ended = time.Now()
	})
	return u
}

// send sends the data, for as long as it flows.
func (us *Uploads) send(ctx context.Context, c *cloud.Client, image, name string, f io.Reader, u *transfer) error {
	flow := time.AfterFunc(us.stall, func() { u.cancel(errStalled) })
	defer flow.Stop()
	return c.SendImage(ctx, image, name, &counted{r: f, u: u, alive: func() { flow.Reset(us.stall) }}, u.size)
}

// result is the outcome of an upload; over is false while it runs.
func (u *transfer) result() (over bool, err error) {
	select {
	case <-u.done:
		return true, u.err
	default:
		return false, nil
	}
}

// within says whether the upload ends in this time.
func (u *transfer) within(ctx context.Context, d time.Duration) bool {
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

func (u *transfer) progress() string {
	const mib = 1 << 20
	if u.size < 0 {
		return fmt.Sprintf("%d MiB sent", u.sent.Load()/mib)
	}
	return fmt.Sprintf("%d of %d MiB sent", u.sent.Load()/mib, (u.size+mib-1)/mib)
}

// counted is a body that says how far it is read.
type counted struct {
	r     io.Reader
	u     *transfer
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
