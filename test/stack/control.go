package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/gybe-nfv/gybe/test/simcloud"
)

// SimState asks the simulated cloud for everything that it holds.
func (s *Stack) SimState(ctx context.Context) (simcloud.State, error) {
	var body struct {
		Objects simcloud.State `json:"objects"`
	}
	return body.Objects, s.Control(ctx, http.MethodGet, "/sim/state", nil, &body)
}

// Leftovers lists what the cloud holds now and did not when it started, and the reverse.
func (s *Stack) Leftovers(ctx context.Context) ([]string, error) {
	now, err := s.SimState(ctx)
	if err != nil {
		return nil, err
	}
	return now.Since(s.atStart), nil
}

// Control calls the control API of the simulated cloud; in and out may be nil.
func (s *Stack) Control(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.Sim.URL+path, body)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<12))
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
