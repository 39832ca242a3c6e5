package cloud

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// cloudsFileWith writes a clouds.yaml and a secure.yaml.
func cloudsFileWith(t *testing.T, clouds, secure string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "clouds.yaml")
	require.NoError(t, os.WriteFile(file, []byte(clouds), 0o600))
	if secure != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "secure.yaml"), []byte(secure), 0o600))
	}
	return file
}

func named(cloud string, more sol.KeyValuePairs) sol.VimConnectionInfo {
	v := sol.VimConnectionInfo{VimType: VimType, AccessInfo: sol.KeyValuePairs{"cloud": cloud}}
	maps.Copy(v.AccessInfo, more)
	return v
}

// TestCloudsYAML: a connection that names a cloud of the operator's file works without credentials of its own, region
// and secrets included.
func TestCloudsYAML(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	withStacks(s)
	file := cloudsFileWith(t, `clouds:
  lab:
    auth: { auth_url: `+s.URL+
		`/identity/v3, username: nfv_user, project_name: nfv, user_domain_name: Default, project_domain_name: Default }
    region_name: RegionOne
    verify: false
`, "clouds: { lab: { auth: { password: s3cret-word } } }\n")
	d := testPool(t, Config{CloudsFile: file})
	require.NoError(t, checked(t, d, named("lab", nil)))
	c, bad := d.connection("v", named("lab", sol.KeyValuePairs{"region": "Two"}))
	require.Empty(t, bad)
	require.Equal(t, "Two", c.region)
	require.Equal(t, "s3cret-word", c.password)
	require.True(t, c.skipVerify)
}

// TestCloudsYAMLIsNotForEverything: errors are reported at the member that names the cloud, without a secret or the
// file's path.
func TestCloudsYAMLIsNotForEverything(t *testing.T) {
	t.Parallel()
	file := cloudsFileWith(t, `clouds:
  half: { auth: { auth_url: http://k/v3, username: u } }
  other: { auth_type: v3oidcpassword, auth: { password: s3cret-word } }
`, "")
	broken := cloudsFileWith(t, "clouds: [s3cret-word", "")
	for name, tt := range map[string]struct {
		file    string
		v       sol.VimConnectionInfo
		pointer string
		want    string
	}{
		"off":     {"", named("lab", nil), "/accessInfo/cloud", "no clouds.yaml is configured"},
		"unknown": {file, named("lab", nil), "/accessInfo/cloud", `no cloud "lab"`},
		"incomplete": {
			file, named("half", nil), "/accessInfo/cloud",
			"the cloud half of clouds.yaml: accessInfo/password is missing",
		},
		"other ways": {file, named("other", nil), "/accessInfo/cloud", "auth_type v3oidcpassword"},
		"two sources": {
			file, named("half", sol.KeyValuePairs{"password": "x"}), "/accessInfo/password",
			"cannot be combined with cloud",
		},
		"no file": {
			filepath.Join(t.TempDir(), "none.yaml"), named("lab", nil), "/accessInfo/cloud", "cannot be read",
		},
		"no YAML": {broken, named("lab", nil), "/accessInfo/cloud", "clouds.yaml is not a clouds.yaml"},
		"no name": {
			file, sol.VimConnectionInfo{AccessInfo: sol.KeyValuePairs{"cloud": 7}}, "/accessInfo/cloud", `no cloud ""`,
		},
		"interface": {
			file,
			sol.VimConnectionInfo{InterfaceInfo: sol.KeyValuePairs{"cloud": "x"}},
			"/interfaceInfo/cloud", `no cloud "x"`,
		},
		"with an address": {file, sol.VimConnectionInfo{
			InterfaceInfo: sol.KeyValuePairs{"cloud": "half", "endpoint": "http://evil"},
		}, "/interfaceInfo/endpoint", "cannot be combined with cloud"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, bad := testPool(t, Config{CloudsFile: tt.file}).connection("v", tt.v)
			require.NotEmpty(t, bad)
			require.Equal(t, "/vimConnectionInfo/v"+tt.pointer, bad[0].Pointer)
			require.Contains(t, bad[0].Detail, tt.want)
			stubcloud.SecretFree(t, bad[0].Detail)
			if tt.file != "" {
				require.NotContains(t, bad[0].Detail, filepath.Dir(tt.file))
			}
		})
	}
}

// TestApplicationCredential: one secret in the place of a user's password, for one project.
func TestApplicationCredential(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		access sol.KeyValuePairs
		want   string
	}{
		"id": {
			sol.KeyValuePairs{"applicationCredentialId": "ac", "applicationCredentialSecret": "s3cret-word"},
			`{"id":"ac","secret":"s3cret-word"}`,
		},
		"name": {sol.KeyValuePairs{
			"applicationCredentialName": "ac", "applicationCredentialSecret": "s3cret-word", "username": "u",
		}, `{"name":"ac","secret":"s3cret-word","user":{"name":"u","domain":{"name":"Default"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stubcloud.New(t)
			withStacks(s)
			var sent struct {
				Auth struct {
					Identity struct {
						Credential json.RawMessage `json:"application_credential"`
					} `json:"identity"`
					Scope any `json:"scope"`
				} `json:"auth"`
			}
			s.Login = func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				_ = json.Unmarshal(body, &sent)
				w.Header().Set("X-Subject-Token", "token-1")
				w.WriteHeader(http.StatusCreated)
				_ = json.NewEncoder(w).Encode(s.Body())
			}
			v := stubcloud.VimAt(s.URL + "/identity/v3")
			v.AccessInfo = tt.access
			c, err := testPool(t, Config{}).Connect(t.Context(), "v", v)
			require.NoError(t, err)
			require.NoError(t, ping(t.Context(), c))
			require.JSONEq(t, tt.want, string(sent.Auth.Identity.Credential))
			require.Nil(t, sent.Auth.Scope, "an application credential has its project")
			require.Equal(t, "p1", c.projectID)
		})
	}
	_, bad := parseConnection("v", sol.VimConnectionInfo{
		InterfaceInfo: sol.KeyValuePairs{"endpoint": "http://k"},
		AccessInfo:    sol.KeyValuePairs{"applicationCredentialName": "ac"},
	})
	require.Len(t, bad, 2)
}

// TestMicroversions: a call asks for the newest version that both sides know, and a cloud without any is used as ever.
func TestMicroversions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		document string
		want     string
	}{
		"newer than we know": {`{"version": {"version": "2.93", "min_version": "2.1"}}`, "compute 2.79"},
		"older":              {`{"version": {"version": "2.40", "min_version": "2.1"}}`, "compute 2.40"},
		"too new for us":     {`{"version": {"version": "2.120", "min_version": "2.100"}}`, ""},
		"none":               {`{"version": {"version": "", "min_version": ""}}`, ""},
		"no document":        {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stubcloud.New(t)
			asked, got := 0, "unset"
			s.Routes.HandleFunc("GET /compute/v2.1/{$}", func(w http.ResponseWriter, _ *http.Request) {
				s.Mu.Lock()
				asked++
				s.Mu.Unlock()
				if tt.document == "" {
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = io.WriteString(w, tt.document)
			})
			s.Routes.HandleFunc("GET /compute/v2.1/servers", func(w http.ResponseWriter, r *http.Request) {
				s.Mu.Lock()
				got = r.Header.Get("OpenStack-API-Version")
				s.Mu.Unlock()
				_, _ = io.WriteString(w, "{}")
			})
			c, err := testPool(t, Config{}).Connect(t.Context(), "v", s.Vim())
			require.NoError(t, err)
			for range 3 {
				require.NoError(t, c.Do(t.Context(), Call{Service: Nova, Method: http.MethodGet, Path: "/servers"}))
			}
			require.Equal(t, tt.want, got)
			require.Equal(t, 1, asked, "once per session")
		})
	}
	for url, want := range map[string]string{
		"http://h/compute/v2.1": "http://h/compute/v2.1/", "http://h:8774/v2.1/p1": "http://h:8774/v2.1/",
		"http://h/volume/v3/p1": "http://h/volume/v3/",
	} {
		require.Equal(t, want, versionRoot(url))
	}
}
