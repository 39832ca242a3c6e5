package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud"
)

func TestRunPrintsWhereTheCloudIsAndStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	code := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		code <- run(
			ctx, []string{"-hosts", "3", "-zones", "z1,z2", "-no-machines", "-timing", `{"create":{"*":"1ms"}}`},
			w, &stderr)
		_ = w.Close()
	}()
	var info simcloud.Info
	require.NoError(t, json.NewDecoder(r).Decode(&info), &stderr)
	require.NotEmpty(t, info.Net0ID)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, info.URL+"/sim/hosts", http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.JSONEq(t, `{"hosts":[{"name":"cmp1","zone":"z1"},{"name":"cmp2","zone":"z2"},{"name":"cmp3","zone":"z1"}]}`, string(body))
	cancel()
	require.Zero(t, <-code)
}

func TestRunRefusesWrongFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-nonsense"},
		{"extra"},
		{"-hosts", "0"},
		{"-timing", "{"},
		{"-zones", ","},
		{"-ssh-port", "70000"},
		{"-speed", "0"},
	} {
		var stderr bytes.Buffer
		require.Equal(t, 2, run(t.Context(), args, io.Discard, &stderr), args)
		require.NotEmpty(t, stderr.String())
	}
	require.Equal(t, 1, run(t.Context(), []string{"-addr", "256.0.0.1:0", "-no-machines"}, io.Discard, io.Discard))
	require.Zero(t, run(t.Context(), []string{"-help"}, io.Discard, io.Discard))
}
