package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
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

// static checks tokens of a file.
type static struct {
	path   string
	log    *slog.Logger
	clock  clock
	tokens atomic.Pointer[map[string]Token] // by id
	watch  *watch
}

func newStatic(o TokenOptions, log *slog.Logger) (*static, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	s := &static{path: o.File, log: log, clock: o.Clock, watch: newWatch(o.Clock, o.File)}
	s.watch.changed()
	if err := s.read(); err != nil && !errors.Is(err, fs.ErrNotExist) { // it is created with the first token
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
	if !s.watch.due() || !s.watch.changed() {
		return
	}
	if err := s.read(); err != nil {
		s.log.ErrorContext(ctx, "static tokens are not valid", "error", err)
	}
}

// read reads the file. Tokens of invalid lines, and all tokens of a file that cannot be read, are rejected from then
// on.
func (s *static) read() error {
	tokens, err := ReadTokens(s.path)
	byID := make(map[string]Token, len(tokens))
	for _, t := range tokens {
		byID[t.ID] = t
	}
	s.tokens.Store(&byID)
	return err
}
