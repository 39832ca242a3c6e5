package app

import (
	"log/slog"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/config"
)

// CheckAuth returns the errors in the files that the settings of authentication name. It connects to nothing.
func CheckAuth(cfg config.Config) error {
	_, err := newAuth(cfg, slog.New(slog.DiscardHandler), nil)
	return err
}

// newAuth makes the Authenticator that the configuration asks for.
func newAuth(cfg config.Config, log *slog.Logger, observe func(mode, reason string)) (*auth.Authenticator, error) {
	opts := auth.Options{Log: log, Observe: observe, None: cfg.Open()}
	if f := cfg.Auth.Tokens.File; f != "" {
		opts.Tokens = &auth.TokenOptions{File: f}
	}
	return auth.New(opts)
}
