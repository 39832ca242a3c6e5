package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
	"go.yaml.in/yaml/v4"
)

// Prefix is the start of the names of all environment variables.
const Prefix = "GYBE_"

// FileVariable names the environment variable with the path of the configuration file.
const FileVariable = Prefix + "CONFIG"

// otherVariables are variables with our prefix that are not settings of a node.
var otherVariables = []string{
	FileVariable, Prefix + "ENDPOINT", Prefix + "OUTPUT", Prefix + "ETSI_DIR", Prefix + "TOKEN",
	Prefix + "TOKEN_FILE", Prefix + "CACERT", Prefix + "CERT", Prefix + "KEY", Prefix + "CONTEXT",
}

// maxFile bounds a configuration file in bytes.
const maxFile = 1 << 20

// Source says where a configuration comes from. Every part may be empty.
type Source struct {
	File string // path of a YAML file
	Env  []string
	// Set holds settings of the command line as key=value, the key with dots: ssh.port=2222.
	Set []string
}

// Load reads a configuration over the defaults and validates it. The warnings report probable mistakes, such as an
// unknown GYBE_ variable. If err is not nil, it lists all errors, and the configuration has the values that could be
// read.
func Load(src Source) (cfg Config, warnings []string, err error) {
	cfg = Default()
	var bad []error
	if src.File != "" {
		bad = append(bad, readFile(&cfg, src.File))
	}
	warnings, err = readEnv(&cfg, src.Env)
	bad = append(bad, err)
	for _, s := range src.Set {
		bad = append(bad, applySetting(&cfg, s))
	}
	if err := errors.Join(bad...); err != nil {
		return cfg, warnings, err
	}
	return cfg, warnings, cfg.Validate()
}

// readFile decodes one strict YAML document over cfg.
func readFile(cfg *Config, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the configuration: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	if len(raw) > maxFile {
		return fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	if err := decode(raw, cfg); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// decode reads one strict document; an empty one changes nothing.
func decode(raw []byte, cfg *Config) error {
	loader, err := yaml.NewLoader(bytes.NewReader(raw), yaml.WithKnownFields())
	if err != nil {
		return err
	}
	if err := loader.Load(cfg); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return rewriteForUsers(err)
	}
	if err := loader.Load(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	return nil
}

// unknownKey matches the decoder's text for an unknown setting; the name of the Go type means nothing to a user.
var unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+?(;|$)`)

// rewriteForUsers rewrites the decoder's errors for users.
func rewriteForUsers(err error) error {
	if _, ok := errors.AsType[*yaml.LoadErrors](err); !ok {
		return err
	}
	text := strings.TrimPrefix(err.Error(), "yaml: construct errors: ")
	return errors.New(unknownKey.ReplaceAllString(text, `unknown setting "$1"$2`))
}

// readEnv applies GYBE_ variables and warns about unknown ones.
func readEnv(cfg *Config, environ []string) ([]string, error) {
	vars := map[string]string{}
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(name, Prefix) {
			vars[name] = value
		}
	}
	opts := env.Options{Environment: vars, Prefix: Prefix}
	known, err := env.GetFieldParamsWithOptions(cfg, opts)
	if err != nil {
		return nil, fmt.Errorf("read the environment: %w", err)
	}
	unknown := maps.Clone(vars)
	for _, p := range known {
		delete(unknown, p.Key)
	}
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		if !slices.Contains(otherVariables, name) {
			warnings = append(warnings, fmt.Sprintf("environment variable %s is not a setting of gybe", name))
		}
	}
	if err := env.ParseWithOptions(cfg, opts); err != nil {
		return warnings, fmt.Errorf("environment: %w", err)
	}
	return warnings, clearEmpty(cfg, vars)
}

// clearEmpty clears texts and lists whose variable is set but empty; the parser does not do this. Numbers have no empty
// value and keep theirs.
func clearEmpty(cfg *Config, vars map[string]string) error {
	for _, key := range Keys() {
		value, ok := vars[variable(key)]
		kind, _ := kindOf(reflect.TypeFor[Config](), strings.Split(key, "."))
		if !ok || value != "" || kind != reflect.String && kind != reflect.Slice {
			continue
		}
		if err := applySetting(cfg, key+"="); err != nil {
			return err
		}
	}
	return nil
}

// variable is the name of a setting's environment variable.
func variable(key string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// applySetting applies one key=value of the command line with the same strict decoder as the file.
func applySetting(cfg *Config, assignment string) error {
	key, value, ok := strings.Cut(assignment, "=")
	if !ok || key == "" {
		return fmt.Errorf("%q is not key=value", assignment)
	}
	scalar := &yaml.Node{Kind: yaml.ScalarNode, Value: value}
	if value == "" {
		scalar.Style = yaml.DoubleQuotedStyle // or it would be null, which changes nothing
	}
	var doc any = scalar
	if kind, _ := kindOf(reflect.TypeFor[Config](), strings.Split(key, ".")); kind == reflect.Slice {
		list := strings.Split(value, ",")
		if value == "" {
			list = []string{}
		}
		doc = list
	}
	parts := strings.Split(key, ".")
	for _, p := range slices.Backward(parts) {
		doc = map[string]any{p: doc}
	}
	raw, err := yaml.Dump(doc)
	if err != nil {
		return fmt.Errorf("%s: %w", assignment, err)
	}
	if err := decode(raw, cfg); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// kindOf returns the kind of the setting at a path of yaml names.
func kindOf(t reflect.Type, path []string) (reflect.Kind, bool) {
	if len(path) == 0 {
		return t.Kind(), true
	}
	if t.Kind() != reflect.Struct {
		return reflect.Invalid, false
	}
	for f := range t.Fields() {
		if f.Tag.Get("yaml") == path[0] {
			return kindOf(f.Type, path[1:])
		}
	}
	return reflect.Invalid, false
}

// Keys lists all settings with dots, e.g. ssh.port, in the order of the struct.
func Keys() []string { return keysOf(reflect.TypeFor[Config](), "") }

func keysOf(t reflect.Type, prefix string) []string {
	var out []string
	for f := range t.Fields() {
		name := prefix + f.Tag.Get("yaml")
		if f.Type.Kind() == reflect.Struct {
			out = append(out, keysOf(f.Type, name+".")...)
			continue
		}
		out = append(out, name)
	}
	return out
}
