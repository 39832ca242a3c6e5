package config

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// nodeID matches valid names of a node: they appear in logs, tables and URLs.
var nodeID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// hostName matches what can be in hosts: a name without a port, an IP address, or a pattern.
var hostName = regexp.MustCompile(`^(\*|(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|[0-9A-Fa-f:.]+)$`)

// minMemory is the smallest limits.memory: less makes the node collect garbage all the time.
const minMemory = 64 * MiB

// valueMemory is the memory that a JSON value counts in limits.bodies: the largest body has to fit.
const valueMemory = 128

// Validate returns all errors joined, one per setting; nil if a node can start with the configuration. It does not open
// files or the database, except for the TLS certificate.
func (c *Config) Validate() error {
	var bad []error
	report := func(key, format string, args ...any) {
		bad = append(bad, fmt.Errorf("%s: %w", key, fmt.Errorf(format, args...)))
	}
	if c.DatabaseURL == "" {
		report(
			"database_url", "is not set; use the connection string of PostgreSQL, e.g. postgres://gybe@localhost/gybe",
		)
	}
	if err := checkHostPort(c.Listen); err != nil {
		report("listen", "%w", err)
	}
	if c.PublicURL != "" {
		if err := checkPublicURL(c.PublicURL); err != nil {
			report("public_url", "%w", err)
		}
	}
	for _, h := range c.Hosts {
		if !hostName.MatchString(h) {
			report("hosts", "%q is not a host name such as vnfm.example.org, *.example.org or *", h)
		}
	}
	if m := c.Limits.Memory; m != 0 && m < minMemory {
		report("limits.memory", "%s is less than %s", m, minMemory)
	}
	if c.DebugListen != "" {
		if err := checkLoopback(c.DebugListen); err != nil {
			report("debug_listen", "%w", err)
		}
	}
	if c.DataDir == "" {
		report("data_dir", "is not set; use a directory for package content")
	}
	if c.NodeID != "" && !nodeID.MatchString(c.NodeID) {
		report("node_id", "%q may have letters, digits, '.', '_' and '-', at most 63", c.NodeID)
	}
	if _, err := c.Log.SlogLevel(); err != nil {
		report("log.level", "%w", err)
	}
	checkOneOf(report, "log.format", c.Log.Format, "text", "json")
	c.validateTLS(report)
	c.validateAuth(report)
	c.validateNumbers(report)
	c.validateTimes(report)
	c.validateSizes(report)
	c.Limits.Quota.validate(report)
	c.validateDrivers(report)
	c.validateOutbound(report)
	c.validateNFVO(report)
	c.validatePackages(report)
	c.validateNotify(report)
	return errors.Join(bad...)
}

// report takes an error of a setting.
type report func(key, format string, args ...any)

func (c *Config) validateNumbers(report report) {
	for _, n := range []struct {
		key      string
		value    int
		from, to int
	}{
		{"auth.max_checks", c.Auth.MaxChecks, 1, 1000},
		{"auth.max_failures", c.Auth.MaxFailures, 0, 1_000_000},
		{"database.max_conns", c.Database.MaxConns, 0, 10_000},
		{"engine.max_workers", c.Engine.MaxWorkers, 1, 10_000},
		{"engine.max_per_vim", c.Engine.MaxPerVim, 0, 10_000},
		{"engine.max_per_project", c.Engine.MaxPerProject, 0, 10_000},
		{"engine.retries", c.Engine.Retries, 1, 1000},
		{"notify.subscriptions", c.Notify.Subscriptions, 1, 1_000_000},
		{"notify.subscribers", c.Notify.Subscribers, 1, 10_000},
		{"notify.concurrency", c.Notify.Concurrency, 1, 100},
		{"limits.requests", c.Limits.Requests, 0, 1_000_000},
		{"limits.body_values", c.Limits.BodyValues, 100, 10_000_000},
		{"limits.connections", c.Limits.Connections, 10, 1_000_000},
		{"limits.package_files", c.Limits.PackageFiles, 1, 10_000_000},
		{"limits.page_size", c.Limits.PageSize, 1, 10_000},
		{"limits.event_streams", c.Limits.EventStreams, 0, 100_000},
		{"limits.console_streams", c.Limits.ConsoleStreams, 1, 100_000},
		{"openstack.zone_retries", c.OpenStack.ZoneRetries, -1, 1000},
		{"ssh.port", c.SSH.Port, 1, 65535},
	} {
		if n.value < n.from || n.value > n.to {
			report(n.key, "%d is not between %d and %d", n.value, n.from, n.to)
		}
	}
}

func (c *Config) validateTimes(report report) {
	for _, d := range []struct {
		key      string
		value    time.Duration
		from, to time.Duration
		zero     bool
	}{
		{"auth.cache_time", c.Auth.CacheTime, time.Second, 5 * time.Minute, false},
		{"auth.oidc.clock_skew", c.Auth.OIDC.ClockSkew, 0, 5 * time.Minute, true},
		{"auth.check_timeout", c.Auth.CheckTimeout, 100 * time.Millisecond, time.Minute, false},
		{"database.keep_operations", c.Database.KeepOperations, time.Minute, 10 * 365 * 24 * time.Hour, true},
		{"database.keep_events", c.Database.KeepEvents, time.Minute, 10 * 365 * 24 * time.Hour, false},
		{"notify.retry_for", c.Notify.RetryFor, time.Minute, 365 * 24 * time.Hour, false},
		{"notify.retry_base", c.Notify.RetryBase, 10 * time.Millisecond, time.Hour, false},
		{"notify.retry_max", c.Notify.RetryMax, 10 * time.Millisecond, 24 * time.Hour, false},
		{"notify.timeout", c.Notify.Timeout, 100 * time.Millisecond, 30 * time.Second, false},
		{"notify.keep", c.Notify.Keep, time.Minute, 365 * 24 * time.Hour, false},
		{"database.keep_audit", c.Database.KeepAudit, time.Hour, 50 * 365 * 24 * time.Hour, false},
		{"engine.tick_budget", c.Engine.TickBudget, time.Millisecond, 10 * time.Minute, false},
		{"engine.inline_wait", c.Engine.InlineWait, 0, c.Engine.TickBudget, true},
		{"engine.retry_base", c.Engine.RetryBase, time.Millisecond, c.Engine.RetryMax, false},
		{"engine.retry_max", c.Engine.RetryMax, time.Millisecond, time.Hour, false},
		{"deadlines.default", c.Deadlines.Default, time.Second, 30 * 24 * time.Hour, false},
		{"deadlines.instantiate", c.Deadlines.Instantiate, time.Second, 30 * 24 * time.Hour, true},
		{"deadlines.terminate", c.Deadlines.Terminate, time.Second, 30 * 24 * time.Hour, true},
		{"nfvo.request_timeout", c.NFVO.RequestTimeout, 100 * time.Millisecond, time.Minute, false},
		{"nfvo.poll", c.NFVO.Poll, time.Millisecond, 10 * time.Minute, false},
		{"nfvo.retry_base", c.NFVO.RetryBase, time.Millisecond, c.NFVO.RetryMax, false},
		{"nfvo.retry_max", c.NFVO.RetryMax, time.Millisecond, time.Hour, false},
		{"limits.download_time", c.Limits.DownloadTime, time.Second, 30 * 24 * time.Hour, false},
		{"openstack.stack_timeout", c.OpenStack.StackTimeout, time.Minute, 30 * 24 * time.Hour, false},
		{"openstack.request_timeout", c.OpenStack.RequestTimeout, time.Second, time.Hour, false},
		{"openstack.cancel_patience", c.OpenStack.CancelPatience, 100 * time.Millisecond, time.Hour, false},
		{"openstack.away_first", c.OpenStack.AwayFirst, time.Millisecond, c.OpenStack.AwayLongest, false},
		{"openstack.away_longest", c.OpenStack.AwayLongest, time.Millisecond, time.Hour, false},
		{"openstack.server_timeout", c.OpenStack.ServerTimeout, time.Second, 24 * time.Hour, false},
		{"openstack.graceful_timeout", c.OpenStack.GracefulTimeout, time.Second, 24 * time.Hour, false},
		{"ssh.connect_timeout", c.SSH.ConnectTimeout, 100 * time.Millisecond, time.Hour, false},
		{"ssh.command_timeout", c.SSH.CommandTimeout, 100 * time.Millisecond, 24 * time.Hour, false},
	} {
		if d.zero && d.value == 0 {
			continue
		}
		if d.value < d.from || d.value > d.to {
			report(d.key, "%s is not between %s and %s", d.value, d.from, d.to)
		}
	}
}

func (c *Config) validateSizes(report report) {
	for _, s := range []struct {
		key  string
		size Size
		from Size
	}{
		{"limits.body", c.Limits.Body, KiB},
		{"limits.bodies", c.Limits.Bodies, c.Limits.Body + valueMemory*Size(c.Limits.BodyValues)},
		{"limits.answers", c.Limits.Answers, 2 * c.Limits.PageBytes},
		{"limits.attribute", c.Limits.Attribute, KiB},
		{"limits.params", c.Limits.Params, KiB},
		{"limits.page_bytes", c.Limits.PageBytes, 64 * KiB},
		{"limits.header", c.Limits.Header, KiB},
		{"limits.package_size", c.Limits.PackageSize, KiB},
		{"limits.package_unpacked", c.Limits.PackageUnpacked, KiB},
	} {
		if s.size < s.from {
			report(s.key, "%s is less than %s", s.size, s.from)
		}
	}
}

// validateDrivers checks the texts that are settings of the grantor and the drivers.
func (c *Config) validateDrivers(report report) {
	for _, z := range c.Grant.Zones {
		if strings.TrimSpace(z) == "" {
			report("grant.zones", "holds an empty name")
		}
	}
	if _, err := regexp.Compile(c.OpenStack.NoRoom); err != nil {
		report("openstack.no_room", "is not a regular expression: %v", err)
	}
	if f := c.OpenStack.CloudsFile; f != "" {
		if info, err := os.Stat(f); err != nil || info.IsDir() {
			report("openstack.clouds_file", "%s is not a readable file", f)
		}
	}
	checkOneOf(report, "ssh.host_key_policy", c.SSH.HostKeyPolicy, HostKeyPin, HostKeyInsecure)
	c.validateScripts(report)
}

func (c *Config) validateScripts(report report) {
	s := c.Scripts
	if c.Ansible.Playbook != "" && s.Python == "" {
		report("ansible.playbook", "is set, and scripts.python is not; playbooks run in the sandbox of scripts")
	}
	checkOneOf(report, "scripts.sandbox", s.Sandbox, SandboxBwrap, SandboxNone)
	checkOneOf(report, "scripts.network", s.Network, NetworkNone, NetworkHost)
	switch {
	case s.Python == "":
	case s.Sandbox == SandboxNone && s.Network == NetworkNone:
		report("scripts.network", "is none, which needs a sandbox; set it to host, or scripts.sandbox to bwrap")
	case s.Network == NetworkHost && c.Open() && !c.Auth.None:
		report("scripts.network", "is host, and the API accepts requests without credentials: every script of a "+
			"package would be an administrator; set a mode of authentication, or auth.none to true if all authors of "+
			"packages may be administrators")
	}
}

func (c *Config) validateTLS(report report) {
	switch {
	case c.TLS.CertFile == "" && c.TLS.KeyFile == "":
	case c.TLS.CertFile == "":
		report("tls.cert_file", "is not set, but tls.key_file is")
	case c.TLS.KeyFile == "":
		report("tls.key_file", "is not set, but tls.cert_file is")
	default:
		if _, err := tls.LoadX509KeyPair(c.TLS.CertFile, c.TLS.KeyFile); err != nil {
			report("tls", "%w", err)
		}
	}
}

// SlogLevel returns the lowest level that is logged.
func (l Log) SlogLevel() (slog.Level, error) {
	var level slog.Level
	switch strings.ToLower(l.Level) {
	case "debug", "info", "warn", "error":
		return level, level.UnmarshalText([]byte(l.Level))
	}
	return level, fmt.Errorf("%q is not one of debug, info, warn, error", l.Level)
}

// SecretKeyFile is the path of the key ring.
func (c *Config) SecretKeyFile() string {
	return cmp.Or(c.Secrets.KeyFile, filepath.Join(c.DataDir, "secret.key"))
}

// PerVim is the number of ticks that work on operations of one VIM at the same time.
func (e Engine) PerVim() int { return cmp.Or(e.MaxPerVim, max(e.MaxWorkers/4, 1)) }

// PerProject is the number of ticks that work on operations of one project at the same time.
func (e Engine) PerProject() int { return cmp.Or(e.MaxPerProject, max(e.MaxWorkers*3/4, 1)) }

// Deadline returns the longest duration of an operation of this type.
func (c *Config) Deadline(t sol.LcmOperationType) time.Duration {
	var own time.Duration
	switch t {
	case sol.LcmOperationInstantiate:
		own = c.Deadlines.Instantiate
	case sol.LcmOperationTerminate:
		own = c.Deadlines.Terminate
	default:
	}
	return cmp.Or(own, c.Deadlines.Default)
}

func checkOneOf(report report, key, value string, allowed ...string) {
	if slices.Contains(allowed, value) {
		return
	}
	report(key, "%q is not one of %s", value, strings.Join(allowed, ", "))
}

func checkHostPort(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("%q is not host:port", s)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is not a port", port)
	}
	return nil
}

// checkLoopback accepts only addresses of this machine.
func checkLoopback(s string) error {
	if err := checkHostPort(s); err != nil {
		return err
	}
	if !isLoopback(s) {
		return fmt.Errorf("%q is not a loopback address; metrics and profiles must not be served to the network", s)
	}
	return nil
}

// isLoopback says whether a host:port is reachable from this machine only.
func isLoopback(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func checkPublicURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a URL", s)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%q is not http://host… or https://host…", s)
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return fmt.Errorf("%q may have a path, but no query, fragment or credentials", s)
	}
	return nil
}
