package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gybe-nfv/gybe/test/stack"
)

// serveFloor answers GETs with the stored JSON of an instance and does nothing else: no log, no metrics, no checks, and
// the JSON stays sealed. With the same libraries, a read of gybe cannot cost less.
func serveFloor(ctx context.Context, listen, database string) error {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return err
	}
	defer pool.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	fixed := make([]byte, 4000)
	mux.HandleFunc("GET /fixed", func(w http.ResponseWriter, _ *http.Request) { answer(w, fixed) })
	mux.HandleFunc("GET /instances/{id}", func(w http.ResponseWriter, r *http.Request) {
		var brief, details []byte
		if err := pool.QueryRow(
			r.Context(), "SELECT rendered_brief, rendered_details FROM vnf_instance WHERE id = $1", r.PathValue("id"),
		).Scan(&brief, &details); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, append(brief, details...))
	})
	s := &http.Server{
		Addr: listen, Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func answer(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // an error means that the client is gone
}

// measureFloor measures what gybe's reads are compared with, in the same run.
func (b *bench) measureFloor(ctx context.Context, instanceID string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	node, err := stack.StartNode(ctx, stack.NodeOptions{
		ID: "floor", Database: b.stack.Database.URL(), Data: b.stack.Dir, Log: os.Stderr,
		Program: []string{program, "-floor"},
	})
	if err != nil {
		return err
	}
	b.node, node = node, b.node
	defer func() { b.node = node }()
	for _, r := range []struct{ what, path string }{
		{"net/http alone, 4000 bytes", "/fixed"},
		{"net/http and pgx alone, reading an instance", "/instances/" + instanceID},
	} {
		get := func(ctx context.Context) error { _, _, err := b.fetch(ctx, r.path, ""); return err }
		if err := b.measure(ctx, r.what, fmt.Sprintf("%d instances", shown), "", 3000, 1, get); err != nil {
			return err
		}
	}
	return b.node.Stop(20 * time.Second)
}
