package engine

import (
	"context"
	"fmt"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// A node looks for jobs when it has added one itself, when the next one is due, and now and then (Config.Poll). Jobs
// are not announced by NOTIFY: PostgreSQL lets all commits with a NOTIFY wait for each other, and every announcement
// would wake all nodes for one job (docs/adr/019).

// localDriver is the driver of a client that runs jobs: it is woken by its own process only.
type localDriver struct {
	*riverpgxv5.Driver
	engine *Engine
}

// GetExecutor implements riverdriver.Driver.
func (d localDriver) GetExecutor() riverdriver.Executor {
	return selecting{d.Driver.GetExecutor(), d.engine}
}

// GetListener implements riverdriver.Driver.
func (d localDriver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return d.engine.listener
}

// localListener gives River the notifications of this process. It needs no connection.
type localListener struct{ queues chan string }

func newLocalListener() *localListener { return &localListener{queues: make(chan string, 64)} }

// wake makes the client look for jobs in a queue. It never blocks: when many are waiting, the client looks soon anyway.
func (l *localListener) wake(queue string) {
	select {
	case l.queues <- queue:
	default:
	}
}

// topicInsert is River's topic of new jobs.
const topicInsert = "river_insert"

// WaitForNotification implements riverdriver.Listener.
func (l *localListener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case queue := <-l.queues:
		return &riverdriver.Notification{Topic: topicInsert, Payload: fmt.Sprintf(`{"queue": %q}`, queue)}, nil
	}
}

// Close implements riverdriver.Listener.
func (l *localListener) Close(context.Context) error { return nil }

// Connect implements riverdriver.Listener.
func (l *localListener) Connect(context.Context) error { return nil }

// Listen implements riverdriver.Listener.
func (l *localListener) Listen(context.Context, string) error { return nil }

// Ping implements riverdriver.Listener.
func (l *localListener) Ping(context.Context) error { return nil }

// Schema implements riverdriver.Listener.
func (l *localListener) Schema() string { return "" }

// SetAfterConnectExec implements riverdriver.Listener.
func (l *localListener) SetAfterConnectExec(string) {}

// Unlisten implements riverdriver.Listener.
func (l *localListener) Unlisten(context.Context, string) error { return nil }
