package download

import (
	"context"
	"errors"
	"io"
	"time"
)

// errIdle is the cause of a body that ended because nothing arrived for some time.
var errIdle = errors.New("the server sent nothing for too long")

// watched is the body of a response. Its request is cancelled when nothing arrives for some time.
type watched struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // that of the request
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.idle)
	n, err := w.ReadCloser.Read(p)
	w.timer.Stop() // the reader may take its time
	if err != nil && errors.Is(context.Cause(w.ctx), errIdle) {
		err = failure(errIdle.Error())
	}
	return n, err
}

// Close implements io.Closer.
func (w *watched) Close() error {
	w.timer.Stop()
	err := w.ReadCloser.Close()
	w.cancel(nil)
	return err
}
