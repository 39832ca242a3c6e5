package ansible

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// sample has the members that packages for Tacker's driver have.
const sample = `
configurable_properties:
  _VAR_user: ubuntu
  _VAR_password: s3cret-password
vdus:
  VDU2:
    config:
      order: 2
      vm_app_config:
        type: remote-command
        username: _VAR_user
        password: _VAR_password
        retry_count: "3"
        retry_interval: 5
        instantiation:
          - { command: second, order: 1 }
          - { command: "first _VAR_word _VAR_VDU_INSTANCE_IP", order: 0 }
  VDU1:
    config:
      order: 1
      vm_app_config:
        username: _VAR_user
        password: _VAR_password
        node_pair: VDU2
        connection_wait_timeout: 60
        execute-host: {}
        instantiation:
          - path: _VAR_vnf_package_path/Scripts/start.yaml
            params: { ansible_password: _VAR_password, port: 80, flag: true, list: [ _VAR_word ] }
            target_hosts: [ VDU1, 10.0.0.9 ]
            order: 0
`

// files is a package with a configuration.
func files(config string) fstest.MapFS {
	return fstest.MapFS{
		"ScriptANSIBLE/config.yaml": {
			Data: []byte(config),
		},
		"Scripts/start.yaml": {
			Data: []byte("- hosts: all\n"),
		},
	}
}

func flavour() *vnfd.Flavour {
	return &vnfd.Flavour{ID: "default", VDUs: []vnfd.VDU{{Name: "VDU1"}, {Name: "VDU2"}}}
}

// TestConfig: a configuration is read with its order, and its variables get values.
func TestConfig(t *testing.T) {
	t.Parallel()
	c, bad := load(files(sample))
	require.Empty(t, bad)
	require.Equal(t, "VDU1", c.vdus[0].name)
	require.Equal(t, typePlaybook, c.vdus[0].kind)
	require.Nil(t, c.vdus[0].host, "an empty execute-host is none")
	v := c.vdus[1]
	require.Equal(t, []string{"first _VAR_word _VAR_VDU_INSTANCE_IP", "second"}, []string{
		v.actions["instantiation"][0].command.value, v.actions["instantiation"][1].command.value,
	})

	r := &resolver{c: c, files: files(sample), scope: newScope(c, sol.KeyValuePairs{"word": "w", "user": "root"})}
	require.True(t, check(r, flavour(), actions))
	require.Empty(t, r.bad)
	r.scope = r.scope.of("VDU2", "10.0.0.2")
	require.Equal(t, "first w 10.0.0.2", r.text(v.actions["instantiation"][0].command))
	require.Equal(t, credentials{user: "root", password: "s3cret-password"}, r.credentials(v.login))
	s := r.settings(v)
	require.Equal(t, 3, s.retries)
	require.Equal(t, "5s", s.interval.String())
	require.Equal(t, defaultRun, s.limit)
	i := c.vdus[0].actions["instantiation"][0]
	require.Equal(t, "Scripts/start.yaml", r.playbook(i.path))
	require.Equal(t, map[string]any{
		"ansible_password": "s3cret-password", "port": "80", "flag": "True", "list": []any{"w"},
	}, r.params(i), "scalars are texts, as on a command line")
	all := []machine{{vdu: "VDU1", address: "10.0.0.1"}, {vdu: "VDU1", address: "10.0.0.3"}}
	require.Equal(t, []string{"10.0.0.1", "10.0.0.3", "10.0.0.9"}, r.targets(i, all[0], all))
	require.Empty(t, r.bad)
	require.Contains(t, r.scope.secrets(), "s3cret-password")
}

// app is a configuration with one VDU; the lines of its vm_app_config begin at line 6.
func app(lines ...string) string {
	return "vdus:\n  VDU1:\n    config:\n      order: 0\n      vm_app_config:\n        " +
		strings.Join(lines, "\n        ") + "\n"
}

// TestConfigDefects: each defect is named with its line.
func TestConfigDefects(t *testing.T) {
	t.Parallel()
	const (
		user    = "username: u"
		healing = "healing: [ { path: Scripts/start.yaml, order: 0 } ]"
		command = "healing: [ { command: ls, order: 0 } ]"
	)
	for name, tt := range map[string]struct{ config, want string }{
		"empty":   {"", "the file is empty"},
		"no YAML": {"a: [", "config.yaml is not YAML"},
		"a list":  {"[]", "1: the file is not a mapping"},
		"no vdus": {"configurable_properties: {}", "the file has no member vdus"},
		"unknown member": {
			app("typo: 1", "instantiation: []"),
			`6: vm_app_config of VDU1 has the unknown member "typo"`,
		},
		"no action":    {app(user), "has none of instantiation, termination"},
		"no config":    {"vdus: { VDU1: {} }", "the VDU VDU1 has no member config"},
		"unknown type": {app("type: shell", "instantiation: []"), `6: type of VDU1 is "shell"`},
		"no order": {
			app("instantiation: [ { path: Scripts/start.yaml } ]"),
			"6: VDU1 instantiation has no order",
		},
		"order no number": {
			app("instantiation: [ { path: Scripts/start.yaml, order: x } ]"),
			"is not an integer",
		},
		"path and command": {app("healing: [ { path: a, command: b, order: 0 } ]"), "path and command"},
		"command of playbook": {
			app("healing: [ { command: b, order: 0 } ]"),
			"commands need type: remote-command",
		},
		"path of command": {
			app("type: remote-command", "healing: [ { path: b, order: 0 } ]"),
			"playbooks need type",
		},
		"params of command": {
			app("type: remote-command", "healing: [ { command: b, params: { a: 1 }, order: 0 } ]"),
			"7: VDU1 healing has a command with params",
		},
		"params no mapping": {
			app("healing: [ { path: Scripts/start.yaml, params: [], order: 0 } ]"),
			"is not a mapping",
		},
		"variable name": {
			"configurable_properties: { a: 1 }\n" + app("healing: []"),
			"names begin with _VAR_",
		},
		"no playbook": {
			app("healing: [ { path: Scripts/x.yaml, order: 0 } ]"),
			"the package has no playbook Scripts/x.yaml",
		},
		"playbook elsewhere": {
			app("healing: [ { path: /etc/x.yaml, order: 0 } ]"),
			"/etc/x.yaml is a path of the node",
		},
		"playbook outside": {
			app("healing: [ { path: ../x.yaml, order: 0 } ]"),
			"is not a file of the package",
		},
		"value of the stack": {
			app("username: _VAR_resource.VDU1.name", healing),
			"_VAR_resource.VDU1.name is not supported",
		},
		"unknown variable": {
			app("username: _VAR_who", healing),
			"6: _VAR_who has no value",
		},
		"key elsewhere": {
			app("priv_key_file: /root/key", healing),
			"priv_key_file: /root/key is a path of the node",
		},
		"no key": {
			app("priv_key_file: Scripts/start.yaml", healing),
			"cannot be read as a private key",
		},
		"retries": {
			app("retry_count: 1000", healing),
			`retry_count is "1000"; it is a number from 0 to 100`,
		},
		"command, no user": {
			app("type: remote-command", command),
			"VDU1 has no username",
		},
		"command, no login": {
			app("type: remote-command", user, command),
			"neither password nor priv_key_file",
		},
		"command, package": {
			app("type: remote-command", user, "password: p",
				"healing: [ { command: ls _VAR_vnf_package_path, order: 0 } ]"),
			"cannot be used here",
		},
		"host": {
			app("type: remote-command", "execute-host: { host: -oProxy }", command),
			`execute-host "-oProxy" is neither`,
		},
		"target host": {
			app("healing: [ { path: Scripts/start.yaml, target_hosts: [ 'a b' ], order: 0 } ]"),
			"neither an address nor a VDU",
		},
		"merge of no mapping": {app("<<: 1", "healing: []"), "merges a value (<<)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, bad := load(files(tt.config))
			if c != nil && len(bad) == 0 {
				r := &resolver{c: c, files: files(tt.config), scope: newScope(c, nil)}
				check(r, flavour(), actions)
				bad = r.bad
			}
			require.ErrorContains(t, refused("config.yaml", bad), tt.want)
		})
	}
}

// TestConfigFile: the configuration is config.yaml, or the only file with such a name.
func TestConfigFile(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{
		"ScriptANSIBLE/config.yaml":         {"config.yaml", "config_b.yaml"},
		"ScriptANSIBLE/config_a.yaml":       {"config_a.yaml", "other.yaml"},
		"has several configurations":        {"config_a.yaml", "config_b.yaml"},
		"no file ScriptANSIBLE/config.yaml": {"other.yaml"},
	} {
		files := fstest.MapFS{}
		for _, n := range names {
			files["ScriptANSIBLE/"+n] = &fstest.MapFile{}
		}
		got, err := locate(files)
		if err != nil {
			got = err.Error()
		}
		require.Contains(t, got, want)
	}
}

// TestMergeKeys: anchors and merge keys work as in Tacker, which reads the file with PyYAML.
func TestMergeKeys(t *testing.T) {
	t.Parallel()
	c, bad := load(files(app("instantiation: &list", "  - &one { path: Scripts/start.yaml, order: 0 }",
		"healing: *list", "termination: [ { <<: *one, order: 7 } ]")))
	require.Empty(t, bad)
	require.Equal(t, []string{"healing", "instantiation", "termination"}, slices.Sorted(maps.Keys(c.vdus[0].actions)))
	require.Equal(t, "Scripts/start.yaml", c.vdus[0].actions["termination"][0].path.value)
	require.Equal(t, 7, c.vdus[0].actions["termination"][0].order)
	require.Equal(t, c.vdus[0].actions["instantiation"], c.vdus[0].actions["healing"])
}

// FuzzConfig: no file makes the reader panic, and a file without defects can be resolved.
func FuzzConfig(f *testing.F) {
	f.Add(sample)
	f.Add(app("healing: [ { path: Scripts/start.yaml, order: 0 } ]"))
	f.Add(app("<<: &a { b: *a }", "healing: &l [ *l ]"))
	f.Fuzz(func(_ *testing.T, text string) {
		c, _ := load(files(text))
		if c == nil {
			return
		}
		r := &resolver{c: c, files: files(text), scope: newScope(c, nil)}
		check(r, flavour(), actions)
		_ = refused("config.yaml", r.bad)
	})
}
