package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const database = "postgres://gybe:geheim@db.example:5432/gybe?sslmode=require"

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gybe.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestDefaultsNeedOnlyADatabase(t *testing.T) {
	t.Parallel()
	cfg, warnings, err := config.Load(config.Source{Env: []string{"GYBE_DATABASE_URL=" + database, "PATH=/bin"}})
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, "127.0.0.1:9890", cfg.Listen)
	require.Equal(t, 22, cfg.SSH.Port)
	require.Equal(t, "/var/lib/gybe/secret.key", cfg.SecretKeyFile())

	_, _, err = config.Load(config.Source{})
	require.ErrorContains(t, err, "database_url: is not set")
}

func TestLaterSourcesWin(t *testing.T) {
	t.Parallel()
	path := file(t, `
database_url: postgres://file@h/db
listen: 10.0.0.1:1
auth: {none: true}
ssh: {port: 1, connect_timeout: 7s}
grant: {zones: [a]}
limits:
  body: 1MiB
`)
	cfg, _, err := config.Load(config.Source{
		File: path,
		Env: []string{
			"GYBE_SSH_PORT=2",
			"GYBE_LISTEN=10.0.0.2:2",
			"GYBE_GRANT_ZONES=b,c",
			"GYBE_LIMITS_BODY=2MiB",
			"GYBE_SCRIPTS_PYTHON=python3",
			"GYBE_SCRIPTS_SANDBOX=none",
			"GYBE_SCRIPTS_NETWORK=host",
		},
		Set: []string{
			"ssh.port=3", "debug_listen=", "limits.package_size=1GB", "limits.free_space=0", "engine.tick_budget=3s",
		},
	})
	require.NoError(t, err)
	require.Equal(t, "postgres://file@h/db", cfg.DatabaseURL)
	require.Equal(t, "10.0.0.2:2", cfg.Listen)
	require.Equal(t, 3, cfg.SSH.Port)
	require.Equal(t, 7*time.Second, cfg.SSH.ConnectTimeout)
	require.Equal(t, []string{"b", "c"}, cfg.Grant.Zones)
	require.Equal(t, 2*config.MiB, cfg.Limits.Body)
	require.Equal(t, config.Size(1_000_000_000), cfg.Limits.PackageSize)
	require.Zero(t, cfg.Limits.FreeSpace)
	require.Equal(t, 3*time.Second, cfg.Engine.TickBudget)
	require.Empty(t, cfg.DebugListen)
	require.Equal(t, config.Scripts{
		Python: "python3", Sandbox: config.SandboxNone, Network: config.NetworkHost,
	}, cfg.Scripts)

	cfg, _, err = config.Load(config.Source{File: path, Set: []string{"grant.zones=x,y", "node_id=123"}})
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y"}, cfg.Grant.Zones)
	require.Equal(t, "123", cfg.NodeID)
}

func TestAnEmptyVariableEmptiesATextAndLeavesNumbers(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.Load(config.Source{
		File: file(t, "database_url: x\ngrant: {zones: [a]}\n"),
		Env:  []string{"GYBE_DEBUG_LISTEN=", "GYBE_GRANT_ZONES=", "GYBE_SSH_PORT="},
	})
	require.NoError(t, err)
	require.Empty(t, cfg.DebugListen)
	require.Empty(t, cfg.Grant.Zones)
	require.Equal(t, 22, cfg.SSH.Port)
}

func TestMistakesAreErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		file string
		env  []string
		set  []string
		want []string
	}{
		{name: "unknown key", file: "database_urll: x\n", want: []string{"line 1: unknown setting \"database_urll\""}},
		{name: "unknown nested key", file: "ssh:\n  prot: 22\n", want: []string{"line 2: unknown setting \"prot\""}},
		{
			name: "two unknown keys",
			file: "prot: 22\nhots: x\n",
			want: []string{`line 1: unknown setting "prot"; line 2: unknown setting "hots"`},
		},
		{name: "duplicate key", file: "listen: a:1\nlisten: b:1\n", want: []string{"listen"}},
		{name: "second document", file: "listen: a:1\n---\nlisten: b:1\n", want: []string{"document"}},
		{name: "not yaml", file: "listen: [", want: []string{"L2"}},
		{name: "wrong type", file: "ssh: {port: many}\n", want: []string{"many"}},
		{name: "bad size", file: "limits: {body: lots}\n", want: []string{"lots", "4MiB"}},
		{
			name: "bad duration in the environment", env: []string{"GYBE_SSH_CONNECT_TIMEOUT=soon"},
			want: []string{"soon"},
		},
		{name: "unknown key on the command line", set: []string{"ssh.prot=1"}, want: []string{"ssh.prot"}},
		{name: "no value on the command line", set: []string{"ssh.port"}, want: []string{"key=value"}},
		{name: "no such file", file: "-", want: []string{"no such file"}},
		{
			name: "everything at once",
			set: []string{
				"listen=nowhere", "public_url=ftp://x", "debug_listen=0.0.0.0:1", "data_dir=", "node_id=a b",
				"log.level=loud", "log.format=xml", "tls.cert_file=x", "ssh.port=0", "ssh.host_key_policy=maybe",
				"scripts.sandbox=chroot", "engine.max_workers=0", "limits.console_streams=0", "deadlines.default=1ms",
				"limits.body=1",
				"hosts=ok,https://x", "limits.body_values=0", "limits.bodies=0", "limits.answers=0",
				"limits.attribute=1", "limits.params=1",
				"limits.page_bytes=1", "limits.connections=0", "limits.memory=1MiB", "database_url=",
			},
			want: []string{
				"database_url:", "listen:", "public_url:", "debug_listen:", "data_dir:", "node_id:", "log.level:",
				"log.format:", "tls.key_file:", "ssh.port:", "ssh.host_key_policy:", "scripts.sandbox:",
				"engine.max_workers:", "limits.console_streams:", "deadlines.default:", "limits.body:",
				`hosts: "https://x"`, "limits.body_values:",
				"limits.bodies:", "limits.answers:", "limits.attribute:", "limits.params:", "limits.page_bytes:",
				"limits.connections:", "limits.memory:",
			},
		},
		{name: "public URL with a query", set: []string{"public_url=http://h/?a=b"}, want: []string{"public_url:"}},
		{
			name: "clouds.yaml that is not there",
			set:  []string{"openstack.clouds_file=/nope"},
			want: []string{"openstack.clouds_file:", "/nope"},
		},
		{
			name: "certificate that is not there",
			set:  []string{"tls.cert_file=/nope", "tls.key_file=/nope"},
			want: []string{"tls:", "/nope"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := config.Source{Env: append(tt.env, "GYBE_DATABASE_URL="+database), Set: tt.set}
			if tt.file == "-" {
				src.File = "/does/not/exist"
			} else if tt.file != "" {
				src.File = file(t, tt.file)
			}
			_, _, err := config.Load(src)
			require.Error(t, err)
			for _, w := range tt.want {
				require.ErrorContains(t, err, w)
			}
			require.NotContains(t, err.Error(), "geheim")
		})
	}
}

// TestNetworkOfScripts: scripts reach the node's network only if the operator says so, and the API is not open to them
// by accident.
func TestNetworkOfScripts(t *testing.T) {
	t.Parallel()
	require.Equal(t, config.NetworkNone, config.Default().Scripts.Network)
	tests := []struct {
		name string
		set  []string
		want string
	}{
		{"sandbox", nil, ""},
		{"host, API open", []string{"scripts.network=host"}, "scripts.network: is host, and the API accepts requests"},
		{"host, API said to be open", []string{"scripts.network=host", "auth.none=true"}, ""},
		{"host, API with tokens", []string{"scripts.network=host", "auth.tokens.file=/none/tokens"}, ""},
		{"no sandbox", []string{"scripts.sandbox=none"}, "scripts.network: is none, which needs a sandbox"},
		{
			"no sandbox, host, API with tokens",
			[]string{"scripts.sandbox=none", "scripts.network=host", "auth.tokens.file=/none/tokens"},
			"",
		},
		{"no scripts", []string{"scripts.python=", "scripts.sandbox=none"}, ""},
		{"unknown", []string{"scripts.network=bridge"}, `scripts.network: "bridge" is not one of none, host`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := append([]string{"database_url=postgres://h/db", "scripts.python=python3"}, tt.set...)
			_, _, err := config.Load(config.Source{Set: set})
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestUnknownVariablesAreWarnings(t *testing.T) {
	t.Parallel()
	_, warnings, err := config.Load(config.Source{Env: []string{
		"GYBE_DATABASE_URL=" + database, "GYBE_LISTN=x", "GYBE_ENDPOINT=http://x", "GYBE_CONFIG=/x",
		"GYBE_TOKEN=x", "GYBE_TOKEN_FILE=x", "GYBE_CACERT=x", "GYBE_CERT=x", "GYBE_KEY=x", "GYBE_CONTEXT=x",
	}})
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "GYBE_LISTN")
}

func TestEmptyFileIsFine(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing\n", "---\n"} {
		_, _, err := config.Load(config.Source{File: file(t, text), Set: []string{"database_url=" + database}})
		require.NoError(t, err, "%q", text)
	}
}

func TestPrintedConfigurationReadsBackWithoutSecrets(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.Load(config.Source{
		Set: []string{"database_url=" + database, "grant.zones=a,b", "hosts=x.example,*.y"},
	})
	require.NoError(t, err)
	out, err := cfg.Masked().YAML()
	require.NoError(t, err)
	require.NotContains(t, string(out), "geheim")
	require.Contains(t, string(out), "body: 1MiB")

	again, _, err := config.Load(config.Source{File: file(t, string(out)), Set: []string{"database_url=" + database}})
	require.NoError(t, err)
	require.Equal(t, cfg, again)
}

func TestMaskURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                               "",
		"postgres://u:p@h/db":            "postgres://u:xxxxx@h/db",
		"postgres://u@h/db":              "postgres://u@h/db",
		"postgres://h/db?password=p":     "postgres://h/db?password=xxxxx",
		"host=h password=p user=u":       "host=h password=xxxxx user=u",
		"host=h password = 'p q' user=u": "host=h password=xxxxx user=u",
		"host=h sslpassword=p":           "host=h sslpassword=xxxxx",
		"postgres://u:p%zz@h/db":         "xxxxx",
	} {
		require.Equal(t, want, config.MaskURL(in), in)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]config.Size{
		"0": 0, "512": 512, "1KiB": 1024, "4 MiB": 4 << 20, "3gib": 3 << 30, "2TiB": 2 << 40, "1kB": 1000, "5MB": 5e6,
	} {
		var s config.Size
		require.NoError(t, s.UnmarshalText([]byte(in)), in)
		require.Equal(t, want, s, in)
		var again config.Size
		require.NoError(t, again.UnmarshalText([]byte(s.String())))
		require.Equal(t, s, again)
	}
	for _, in := range []string{"", "-1", "1.5MiB", "9999999TiB", "KiB", "1XB"} {
		var s config.Size
		require.Error(t, s.UnmarshalText([]byte(in)), in)
	}
}

func TestDeadlineFallsBackToTheDefault(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Deadlines.Terminate = time.Minute
	require.Equal(t, 2*time.Hour, cfg.Deadline(sol.LcmOperationInstantiate))
	require.Equal(t, time.Minute, cfg.Deadline(sol.LcmOperationTerminate))
	require.Equal(t, 2*time.Hour, cfg.Deadline(sol.LcmOperationHeal))
}

func TestEverySettingHasAFileKeyAndAVariable(t *testing.T) {
	t.Parallel()
	keys := config.Keys()
	require.Contains(t, keys, "ssh.port")
	require.Contains(t, keys, "database_url")
	for _, k := range keys {
		require.False(t, strings.HasSuffix(k, "."), "a field without a yaml name: %s", k)
	}
	// A variable of every key is known: none of them is warned about.
	var environ []string
	for _, k := range keys {
		environ = append(environ, config.Prefix+strings.ToUpper(strings.ReplaceAll(k, ".", "_"))+"=")
	}
	_, warnings, _ := config.Load(config.Source{Env: environ})
	require.Empty(t, warnings)
}

// TestPlaybooksNeedScripts: playbooks run in the sandbox of scripts.
func TestPlaybooksNeedScripts(t *testing.T) {
	t.Parallel()
	require.Empty(t, config.Default().Ansible.Playbook)
	set := []string{"database_url=postgres://h/db", "ansible.playbook=ansible-playbook"}
	_, _, err := config.Load(config.Source{Set: set})
	require.ErrorContains(t, err, "ansible.playbook: is set, and scripts.python is not")
	cfg, _, err := config.Load(config.Source{Set: append(set, "scripts.python=python3")})
	require.NoError(t, err)
	require.Equal(t, "ansible-playbook", cfg.Ansible.Playbook)
}
