package engine

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// shares counts the jobs that this node has fetched, by VIM and project, and decides from which queues it takes more.
// It is knowledge of this process only: a node that dies takes nothing with it.
type shares struct {
	maxPerVim, maxPerProject int // 0 = no limit

	mu      sync.Mutex
	fetched map[int64]share // by job
	perVim  map[string]int
	perProj map[string]int
	crowded map[string]bool // base queues with jobs that wait for a place
	wake    func(queue string)
}

// share is what a job counts for. The same VIM has a share in each base queue.
type share struct {
	base, vim, project string
	since              time.Time
}

func newShares(cfg Config) *shares {
	return &shares{
		maxPerVim: cfg.MaxPerVim, maxPerProject: cfg.MaxPerProject, fetched: map[int64]share{},
		perVim: map[string]int{}, perProj: map[string]int{}, crowded: map[string]bool{}, wake: func(string) {},
	}
}

// shareOf reads the name of a queue: "<base>/<VIM>/<project>", or a base alone, which has no limits.
func shareOf(queue string) share {
	base, rest, _ := strings.Cut(queue, "/")
	vim, project, _ := strings.Cut(rest, "/")
	return share{base: base, vim: vim, project: project}
}

// room is the number of jobs that may still be fetched from a queue. The caller holds mu.
func (s *shares) room(of share, limit int) int {
	if s.maxPerVim > 0 && of.vim != "" {
		limit = min(limit, s.maxPerVim-s.perVim[of.base+"/"+of.vim])
	}
	if s.maxPerProject > 0 && of.project != "" {
		limit = min(limit, s.maxPerProject-s.perProj[of.base+"/"+of.project])
	}
	return max(limit, 0)
}

// choose returns the queues with due jobs from which some may be fetched, those of the VIMs with the fewest running
// jobs first.
func (s *shares) choose(due []string, workers int) (out []portion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range due {
		of := shareOf(q)
		if s.room(of, workers) == 0 {
			s.crowded[of.base] = true
			continue
		}
		out = append(out, portion{queue: q, running: s.perVim[of.base+"/"+of.vim]})
	}
	slices.SortStableFunc(out, func(a, b portion) int { return a.running - b.running })
	return out
}

// portion is a queue with the number of running jobs of its VIM.
type portion struct {
	queue   string
	running int
}

// limit bounds the number of jobs that are fetched from a queue by its room.
func (s *shares) limit(queue string, most int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := shareOf(queue)
	n := s.room(of, most)
	if n < most {
		s.crowded[of.base] = true
	}
	return n
}

// take counts fetched jobs of a queue.
func (s *shares) take(queue string, jobs []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := shareOf(queue)
	of.since = time.Now()
	for _, id := range jobs {
		s.fetched[id] = of
		s.count(of, 1)
	}
}

// free gives the place of a job back, and looks for jobs that wait for one.
func (s *shares) free(job int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, ok := s.fetched[job]
	if !ok {
		return
	}
	delete(s.fetched, job)
	s.count(of, -1)
	if s.crowded[of.base] {
		delete(s.crowded, of.base)
		s.wake(of.base)
	}
}

// keep gives the places of jobs back that the database does not know as ours any more: they were never started.
func (s *shares) keep(own []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.fetched) <= len(own) {
		return
	}
	for id, of := range s.fetched {
		if !slices.Contains(own, id) && time.Since(of.since) > lostAfter {
			delete(s.fetched, id)
			s.count(of, -1)
		}
	}
}

// count changes the numbers of a share. The caller holds mu.
func (s *shares) count(of share, by int) {
	add := func(m map[string]int, key string) {
		if m[key] += by; m[key] <= 0 {
			delete(m, key)
		}
	}
	add(s.perVim, of.base+"/"+of.vim)
	add(s.perProj, of.base+"/"+of.project)
}
