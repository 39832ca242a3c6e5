package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/stack"
)

// canaries are secrets of one instantiation, each with a text of its own.
type canaries map[string]string

// put makes a canary and returns its text.
func (c canaries) put(name string) string {
	c[name] = fmt.Sprintf("C4nary%02dOf%s", len(c), base64.RawURLEncoding.EncodeToString([]byte(name)))
	return c[name]
}

// secretPackage builds the plain package with a data type that marks a property as a secret.
func secretPackage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "plain")
	require.NoError(t, os.CopyFS(source, os.DirFS(plainSource)))
	types, err := os.OpenFile(filepath.Join(source, "Definitions", "plain_types.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = types.WriteString(`
data_types:
  plain.InstantiateParameters:
    derived_from: tosca.datatypes.nfv.VnfOperationAdditionalParameters
    properties:
      licence:
        type: string
        metadata: {gybe.secret: "true"}
`)
	require.NoError(t, err)
	require.NoError(t, types.Close())
	archive := filepath.Join(dir, "plain.zip")
	require.NoError(t, stack.BuildPackage(t.Context(), source, archive))
	return archive
}

// addSecrets puts a canary into every place of a request that can hold a secret.
func (c canaries) addSecrets(t *testing.T, request map[string]any) {
	t.Helper()
	vim := at(t, request, "vimConnectionInfo", "vim1")
	at(t, vim, "interfaceInfo")["clientKey"] = c.put("client key of a VIM")
	access := at(t, vim, "accessInfo")
	access["admin_pass"] = c.put("admin_pass of a VIM")
	access["note"] = c.put("unknown member of accessInfo")
	vim["extra"] = map[string]any{
		"admin_pass": c.put("admin_pass in extra"), "note": map[string]any{"x": c.put("unknown member of extra")},
	}
	params := at(t, request, "additionalParams")
	for _, name := range []string{
		"password", "adminPass", "admin_pass", "db_pwd", "rootpw", "psk", "authKey", "encryption_key", "jwt",
		"session_cookie", "snmp_community", "client_secret", "bearer_token", "licence",
	} {
		params[name] = c.put(name)
	}
	params["headers"] = map[string]any{"authorization": "Basic " + c.put("authorization")}
	params["curl"] = "-H 'X-Auth: Bearer " + c.put("bearer token in a text") + "'"
	params["dsn"] = "host=db user=u password=" + c.put("DSN") + " dbname=d"
	params["mirrors"] = "http://a:" + c.put("first URL") + "@h1/ http://b:" + c.put("second URL") + "@h2/"
	params["pem"] = "-----BEGIN RSA PRIVATE KEY-----\n" + c.put("private key") + "\n-----END RSA PRIVATE KEY-----"
	params["gybe.secrets"] = []string{"pin", "database/login"}
	params["pin"] = c.put("member that the request names")
	params["database"] = map[string]any{"login": c.put("path that the request names"), "host": "db"}
}

// TestCanariesAreHidden is one instantiation with secrets in all usual places, which fails with an error text that
// repeats some of them, and is retried.
func TestCanariesAreHidden(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	var data string
	w := start(t, cloud, func(c *config.Config) { data = c.DataDir })
	vnfd, err := stack.Onboard(t.Context(), w.api, secretPackage(t))
	require.NoError(t, err)

	c := canaries{}
	var request map[string]any
	require.NoError(t, json.Unmarshal(encode(t, w.plain("default")), &request))
	c.addSecrets(t, request)
	require.GreaterOrEqual(t, len(c), 26)
	cloud.AddFault(fault.Rule{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: "create", Count: 1,
		Reason: "rejected: " + c["db_pwd"] + " " + c["member that the request names"] + " " + c["licence"] + " " +
			c["second URL"] + " " + c["unknown member of extra"],
	})
	id := w.create(vnfd)
	op := w.instantiate(id, request)
	failure := w.failed(op).Error
	require.Contains(t, failure.Detail, "rejected: *** *** ***")
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	w.events(op)
	w.askEverything(id)
	w.progress(op)

	places := map[string]string{"console": w.console("/ui/", "/ui/instances/"+id, "/ui/operations/"+op, "/ui/packages")}
	for _, args := range [][]string{
		{"op", "show", op},
		{"op", "show", op, "-o", "json"},
		{"op", "list", "-o", "json"},
		{"vnf", "show", id},
		{"vnf", "show", id, "-o", "json"},
		{"vim", "list", "-o", "json"},
	} {
		places["gybe "+strings.Join(args, " ")] = w.command(args...)
	}
	w.stop()
	places["answers of the API"], places["log"] = w.seen.String(), w.log.String()
	for table, rows := range w.tables() {
		places["table "+table] = rows
	}
	maps.Copy(places, files(t, data))

	require.Contains(t, places["console"], "lcm-operation-user-data-class", "the console shows the request")
	require.Contains(t, places["gybe op show "+op+" -o json"], "database")
	require.Contains(t, places["answers of the API"], "gybe.secrets")
	for place, text := range places {
		for what, secret := range c {
			for _, form := range []string{
				secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret)),
			} {
				if n := strings.Index(text, form); n >= 0 {
					t.Errorf("%s: the %s: …%s…", place, what, text[max(0, n-120):min(len(text), n+len(form)+20)])
				}
			}
		}
	}
}

// console reads pages of the console.
func (w *world) console(pages ...string) string {
	w.t.Helper()
	var out strings.Builder
	for _, page := range pages {
		req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.node.URL()+page, nil)
		require.NoError(w.t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(w.t, err)
		_, err = io.Copy(&out, res.Body)
		require.NoError(w.t, err)
		require.NoError(w.t, res.Body.Close())
		require.Equal(w.t, http.StatusOK, res.StatusCode, page)
	}
	return out.String()
}

// command runs a command of gybe and returns all that it prints.
func (w *world) command(args ...string) string {
	w.t.Helper()
	var out bytes.Buffer
	code := cli.Run(w.t.Context(), append(args, "--endpoint", w.node.URL()), cli.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
	})
	require.Zero(w.t, code, "%v: %s", args, out.String())
	return out.String()
}
