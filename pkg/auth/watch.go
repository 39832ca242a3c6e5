package auth

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// lookAgain is how often files are looked at: a revoked token or certificate is valid for so long.
const lookAgain = time.Second

// watch notices changes of files.
type watch struct {
	paths  []string
	clock  clock
	looked atomic.Int64 // Unix nanoseconds

	mu   sync.Mutex
	seen []os.FileInfo // nil for a file that is absent
}

func newWatch(c clock, paths ...string) *watch {
	w := &watch{clock: c, paths: slices.DeleteFunc(paths, func(p string) bool { return p == "" })}
	w.looked.Store(c().UnixNano())
	return w
}

// due is true for one caller in a second.
func (w *watch) due() bool {
	now, last := w.clock().UnixNano(), w.looked.Load()
	return now-last >= int64(lookAgain) && w.looked.CompareAndSwap(last, now)
}

// changed says whether a file is another one than at the last call.
func (w *watch) changed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := make([]os.FileInfo, len(w.paths))
	for i, p := range w.paths {
		now[i], _ = os.Stat(p) // nil if it is absent
	}
	same := slices.EqualFunc(now, w.seen, func(a, b os.FileInfo) bool {
		if a == nil || b == nil {
			return a == nil && b == nil
		}
		return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
	})
	w.seen = now
	return !same
}
