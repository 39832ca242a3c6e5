package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// TokenOptions configure static tokens.
type TokenOptions struct {
	// File of the tokens; see ReadTokens. It may be created later.
	File string
	// Clock is time.Now if nil.
	Clock func() time.Time
}

// lookAgain is how often the file is looked at: a revoked token is valid for so long.
const lookAgain = time.Second

// static checks tokens of a file.
type static struct {
	path   string
	log    *slog.Logger
	clock  clock
	tokens atomic.Pointer[map[string]Token] // by id

	looked atomic.Int64 // when the file was looked at, Unix nanoseconds
	mu     sync.Mutex   // guards reading
	seen   os.FileInfo
}

func newStatic(o TokenOptions, log *slog.Logger) (*static, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	s := &static{path: o.File, log: log, clock: o.Clock}
	s.looked.Store(o.Clock().UnixNano())
	if err := s.read(); err != nil {
		return nil, fmt.Errorf("static tokens: %w", err)
	}
	return s, nil
}

func (s *static) name() string { return ModeToken }

func (s *static) challenge() string { return bearerChallenge }

func (s *static) accepts(c Credential) bool {
	return (c.Kind == KindToken || c.Kind == KindBearer) && strings.HasPrefix(c.Secret, TokenPrefix)
}

func (s *static) check(ctx context.Context, c Credential, _ string) (lcm.Principal, error) {
	s.refresh(ctx)
	id, ok := idOf(c.Secret)
	t, found := (*s.tokens.Load())[id]
	if !ok || !found || subtle.ConstantTimeCompare([]byte(hashOf(c.Secret)), []byte(t.Hash)) != 1 {
		return lcm.Principal{}, reject(reasonInvalid, lcm.CodeUnauthorized, "the token is not valid, or was revoked")
	}
	if !t.Expires.IsZero() && !s.clock().Before(t.Expires) {
		return lcm.Principal{}, reject(
			reasonExpired, lcm.CodeUnauthorized, "the token %s expired at %s", id, t.Expires.Format(time.RFC3339),
		)
	}
	return lcm.Principal{Subject: t.Subject, Project: t.Project, Role: t.Role}, nil
}

// refresh reads the file again if it has changed. One request in a second pays for the look.
func (s *static) refresh(ctx context.Context) {
	now, last := s.clock().UnixNano(), s.looked.Load()
	if now-last < int64(lookAgain) || !s.looked.CompareAndSwap(last, now) {
		return
	}
	if err := s.read(); err != nil {
		s.log.ErrorContext(ctx, "static tokens are not valid", "error", err)
	}
}

// read reads the file if it has changed since the last time. Tokens of invalid lines, and all tokens of a file that
// cannot be read, are rejected from then on.
func (s *static) read() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(s.path)
	if err == nil && s.seen != nil && os.SameFile(info, s.seen) &&
		info.ModTime().Equal(s.seen.ModTime()) && info.Size() == s.seen.Size() {
		return nil
	}
	before := s.seen
	s.seen = info
	tokens, err := ReadTokens(s.path)
	byID := make(map[string]Token, len(tokens))
	for _, t := range tokens {
		byID[t.ID] = t
	}
	s.tokens.Store(&byID)
	if errors.Is(err, fs.ErrNotExist) {
		s.seen = nil
		if before == nil { // it is created with the first token
			return nil
		}
	}
	return err
}
