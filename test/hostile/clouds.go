package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// badCloud is a VIM that accepts connections and stays silent, and one whose answers are hostile.
type badCloud struct {
	silent net.Listener
	server *httptest.Server
}

func newBadCloud() *badCloud {
	var lc net.ListenConfig
	silent, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err) // the loopback address always has a free port
	}
	go func() {
		for {
			c, err := silent.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, c) }() // until the other side ends
		}
	}()
	return &badCloud{silent, httptest.NewServer(http.HandlerFunc(answerBadly))}
}

func (c *badCloud) close() {
	_ = c.silent.Close()
	c.server.CloseClientConnections()
	c.server.Close()
}

// answerBadly answers as the first element of the path says.
func answerBadly(w http.ResponseWriter, r *http.Request) {
	mode, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	w.Header().Set("X-Subject-Token", "t")
	w.Header().Set("Content-Type", "application/json")
	switch mode {
	case "html":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><script>alert(1)</script></html>")
	case "redirect":
		http.Redirect(w, r, "http://127.0.0.1:1/metrics", http.StatusTemporaryRedirect)
	case "objects":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"token":{"catalog":[%s{}]}}`, strings.Repeat("{},", 10_000_000))
	case "string":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"token":{"user":{"name":"%s"}}}`, strings.Repeat("x", 30<<20))
	case "deep":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, strings.Repeat(`{"token":`, 200_000))
	case "null":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "null")
	case "error":
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.CopyN(w, endless('e'), 10<<20) // the client may end it
	default:
		hijacked, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = hijacked.Close() // the attack
		}
	}
}

// endless is a reader of one byte without end.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// hostileVIM registers and plans with a VIM whose answers are hostile.
func (b *battle) hostileVIM(ctx context.Context, kind string, n int) {
	modes := []string{"html", "redirect", "objects", "string", "deep", "null", "error", "cut"}
	body := map[string]any{
		"name": "bad", "type": "openstack", "auth_url": b.cloud.server.URL + "/" + modes[n%len(modes)] + "/v3",
		"auth_cred":   map[string]any{"username": "u", "password": "p", "user_domain_name": "d"},
		"vim_project": map[string]any{"name": "n", "project_domain_name": "d"},
	}
	raw, err := json.Marshal(map[string]any{"vim": body})
	if err != nil {
		panic(err) // maps of strings
	}
	req, err := b.request(http.MethodPost, "/v1.0/vims", raw)
	if err != nil {
		b.breaks(kind, "make a request: %s", err)
		return
	}
	b.call(ctx, kind, true, req)
}

// silentVIM instantiates on a VIM that never answers. Older operations are cancelled and their instances deleted.
func (b *battle) silentVIM(ctx context.Context, kind string, n int) {
	params := stack.PlainParams("default", "", b.stack.Sim)
	vim := stack.VimConnection(b.stack.Sim)
	vim.VimID, vim.InterfaceInfo = "", sol.KeyValuePairs{"endpoint": "http://" + b.cloud.silent.Addr().String() + "/v3"}
	params["vimConnectionInfo"] = map[string]any{"vim1": vim}
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err) // maps of strings
	}
	i, err := b.intruders.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: b.vnfd, VnfInstanceName: "silent"})
	if !b.fine(ctx, kind, "create", err) {
		return
	}
	op, err := b.intruders.Instantiate(ctx, i.ID, raw)
	if !b.fine(ctx, kind, "instantiate", err) {
		return
	}
	if n%4 == 0 { // three of four stay until their retries are used up
		began := time.Now()
		if !b.fine(ctx, kind, "cancel", b.intruders.Cancel(ctx, op, sol.CancelModeForceful)) {
			return
		}
		for ctx.Err() == nil {
			o, err := b.intruders.Operation(ctx, op)
			if err == nil && o.OperationState != sol.LcmOperationStateStarting {
				break
			}
			wait(ctx, 100*time.Millisecond)
		}
		if took := time.Since(began); took > 10*time.Second && ctx.Err() == nil {
			b.breaks(kind, "a cancel took %s", took.Round(time.Second))
		}
		b.fine(ctx, kind, "delete", b.intruders.DeleteInstance(ctx, i.ID))
	}
}

// fine counts the outcome of a call of a client, and says whether it succeeded. Limits may refuse it.
func (b *battle) fine(ctx context.Context, kind, what string, err error) bool {
	switch {
	case err == nil:
		b.count(kind, what)
		return true
	case ctx.Err() != nil:
	case isStatus(
		err, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusConflict,
	):
		b.count(kind, what+" refused")
	default:
		b.count(kind, what+" failed")
		b.breaks(kind, "%s: %s", what, err)
	}
	return false
}
