package k8scluster_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// cloud plays the machines and the cluster that the script makes of them: jobs take time, tokens have to fit, nodes
// become Ready.
type cloud struct {
	t  *testing.T
	mu sync.Mutex

	machines map[string]*machine // by VNFC
	took     map[string]time.Duration
	ran      []string // "name phase", in order of start
	joining  int      // masters that join at this moment
	token    string
	nodes    map[string]int // names, and how often they are still found not Ready
	labels   map[string]map[string]string
	account  bool
	api      *httptest.Server
	ca       []byte
	direct   bool // the API can be reached without a tunnel
	tunnels  int
	stuck    string // a node that never becomes Ready
	// crowd, if set, holds every labelling up until that of all others has begun, too.
	crowd *crowd
}

// crowd blocks each caller until all have arrived.
type crowd struct {
	want  int32
	came  atomic.Int32
	full  chan struct{}
	tired atomic.Bool // a caller waited until its timeout
}

func (c *crowd) join() {
	if c.came.Add(1) == c.want {
		close(c.full)
	}
	select {
	case <-c.full:
	case <-time.After(10 * time.Second):
		c.tired.Store(true)
	}
}

type machine struct {
	c       *cloud
	vnfc    string
	addr    string
	jobs    map[string]*job
	refuse  func() error   // why it cannot be reached, if so
	failing map[string]int // phase to exit code, once
	cut     map[string]int // phase to number of lost connections to come
	reboots map[string]int // phase to number of reboots to come
}

type job struct {
	remote.Job
	begun  time.Time
	ends   time.Time
	code   int
	log    []string
	result string
	done   bool
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{
		t: t, machines: map[string]*machine{}, nodes: map[string]int{}, labels: map[string]map[string]string{},
		direct: true,
		took: map[string]time.Duration{
			"prepare": 30 * time.Second, "init": 20 * time.Second, "join": 10 * time.Second,
		},
	}
	c.api = httptest.NewUnstartedServer(http.HandlerFunc(c.serve))
	c.api.TLS = &tls.Config{Certificates: []tls.Certificate{c.certificate()}, MinVersion: tls.VersionTLS12}
	c.api.Config.SetKeepAlivesEnabled(false)
	c.api.Config.ErrorLog = log.New(io.Discard, "", 0)
	c.api.StartTLS()
	t.Cleanup(c.api.Close)
	return c
}

// certificate is valid for the cluster's inside address and no other, as kubeadm makes it.
func (c *cloud) certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(c.t, err)
	tpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kube-apiserver"},
		NotAfter:    time.Now().Add(1e6 * time.Hour),
		IPAddresses: []net.IP{net.ParseIP("10.10.0.100"), net.ParseIP("10.10.0.11")}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, key.Public(), key)
	require.NoError(c.t, err)
	c.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// instance describes the machines of a flavour as the infra driver's inventory does.
func (c *cloud) instance(masters, workers int) *lcm.Instance {
	i := &lcm.Instance{
		ID: instanceID, VnfdID: "d34ac189-5376-493f-828f-224dd5fe7393", VnfPkgID: "pkg", VimConnections: vim1(),
	}
	add := func(vdu string, index, octet int) {
		vnfc := fmt.Sprintf("%s-%08d-0000-4000-8000-000000000000", vdu, octet)
		m := &machine{
			c: c, vnfc: vnfc, addr: fmt.Sprintf("172.24.4.%d", octet), jobs: map[string]*job{},
			failing: map[string]int{}, cut: map[string]int{}, reboots: map[string]int{},
		}
		c.machines[vnfc] = m
		i.Inventory = append(i.Inventory,
			lcm.Resource{
				Name: vdu, Kind: lcm.KindCompute, Type: "OS::Nova::Server", VNFC: vnfc, VDU: vdu, Index: index,
				Host: fmt.Sprintf("compute%d", index),
			},
			lcm.Resource{
				Name: vdu + "_CP1", Kind: lcm.KindPort, Type: "OS::Neutron::Port", VNFC: vnfc, VDU: vdu,
				Index: index, Addresses: []lcm.Address{{IP: fmt.Sprintf("10.10.0.%d", octet)}},
			},
			lcm.Resource{
				Name: vdu + "_CP1_floating_ip", Kind: lcm.KindAddress, Type: "OS::Neutron::FloatingIP",
				VNFC: vnfc, VDU: vdu, Index: index, Addresses: []lcm.Address{{IP: m.addr, Floating: true}},
			})
	}
	for n := range workers {
		add("workerNode", n, 21+n)
	}
	for n := range slices.Backward(make([]struct{}, masters)) { // in no order that helps
		add("masterNode", n, 11+n)
	}
	if masters > 1 {
		i.Inventory = append(i.Inventory,
			lcm.Resource{Name: "vip_CP", Kind: lcm.KindPort, Type: "OS::Neutron::Port", Addresses: []lcm.Address{
				{IP: "10.10.0.100"}, {IP: "172.24.4.100", Floating: true},
			}},
			lcm.Resource{
				Name: "vip_CP_floating_ip", Kind: lcm.KindAddress, Type: "OS::Neutron::FloatingIP",
				Addresses: []lcm.Address{{IP: "172.24.4.100", Floating: true}},
			})
	}
	return i
}

// machine finds a machine by the name of its node.
func (c *cloud) machine(name string) *machine {
	for _, m := range c.machines {
		vdu := strings.TrimRight(name, "0123456789")
		if strings.HasPrefix(m.vnfc, vdu) && strings.HasSuffix(m.addr, "."+strings.TrimPrefix(name, vdu)) {
			return m
		}
	}
	c.t.Fatalf("no machine %s", name)
	return nil
}

// driver makes a driver as a node of the VNFM has it.
func (c *cloud) driver() *k8scluster.Driver {
	return k8scluster.New(k8scluster.Options{Connect: c.connect, Dial: c.dial, SSHPort: 2222})
}

func (c *cloud) connect(_ context.Context, t remote.Target) (k8scluster.Connection, func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.machines[t.VNFC]
	if m == nil || t.Host != m.addr || t.Port != 2222 || t.User != "ubuntu" {
		return nil, nil, fmt.Errorf("wrong target %s", t)
	}
	if m.refuse != nil {
		if err := m.refuse(); err != nil {
			return nil, nil, err
		}
	}
	return m, func() {}, nil
}

func (c *cloud) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	if !c.direct {
		return nil, errors.New("no route to " + addr)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", c.api.Listener.Addr().String())
}

// DialContext is the tunnel through the machine.
func (m *machine) DialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	m.c.mu.Lock()
	m.c.tunnels++
	m.c.mu.Unlock()
	if addr != "10.10.0.11:6443" {
		return nil, errors.New("refused: " + addr)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", m.c.api.Listener.Addr().String())
}

// update lets what is due come true. The lock is held.
func (m *machine) update() {
	for _, j := range m.jobs {
		if !j.done && !time.Now().Before(j.ends) {
			j.done = true
			if j.code == 0 {
				m.c.became(j)
			}
		}
	}
}

// became does what the script does to the cluster.
func (c *cloud) became(j *job) {
	name := j.Env["NODE_NAME"]
	switch j.Env["GYBE_PHASE"] {
	case "init":
		c.nodes[name] = 2
	case "join":
		c.nodes[name] = 2
		if strings.HasPrefix(name, "master") {
			c.joining--
		}
	case "tokens":
		c.token = fmt.Sprintf("abcdef.%016d", len(c.ran))
		j.result = fmt.Sprintf("token=%s\nssl_ca_cert_hash=sha256:%064d\ncertificate_key=%064d\n", c.token, 1, 2)
	}
}

// begin checks what the driver gives the script, as the script would.
func (m *machine) begin(j remote.Job) *job {
	c, name, phase := m.c, j.Env["NODE_NAME"], j.Env["GYBE_PHASE"]
	c.ran = append(c.ran, name+" "+phase)
	r := &job{Job: j, begun: time.Now(), ends: time.Now().Add(c.took[phase])}
	secrets := ""
	for _, f := range j.Files {
		if f.Name == "secrets" {
			secrets = string(f.Content)
			if !f.Secret || f.Mode != 0o600 {
				r.code = 99
			}
		}
	}
	say := func(code int, why string) {
		r.code = code
		r.log = append(r.log, "install_k8s_cluster: error: "+phase+": "+why)
	}
	r.log = append(r.log, "install_k8s_cluster: "+phase+" on "+name,
		"oops, the join token is abcdef.0123456789abcdef and the certificate_key: 00ff")
	switch phase {
	case "prepare", "tokens":
	case "init":
		if !slices.Contains(c.ran, name+" prepare") {
			say(1, "not prepared")
		}
	case "join":
		if !slices.Contains(c.ran, name+" prepare") {
			say(1, "not prepared")
		}
		if c.token == "" || !strings.Contains(secrets, "JOIN_TOKEN="+c.token+"\n") || strings.Contains(j.Command,
			c.token) {
			say(1, "no valid token")
		}
		if strings.HasPrefix(name, "master") {
			if !strings.Contains(secrets, "CERTIFICATE_KEY=") {
				say(1, "no certificate key")
			}
			if c.joining++; c.joining > 1 {
				say(1, "etcd takes one new member at a time")
			}
		}
	}
	if code := m.failing[phase]; code != 0 {
		delete(m.failing, phase)
		say(code, "the mirror is on fire")
	}
	if r.code != 0 && phase == "join" && strings.HasPrefix(name, "master") {
		c.joining--
	}
	if r.code != 0 {
		r.ends = r.begun.Add(time.Second)
	}
	return r
}

func (m *machine) status(id string) remote.Status {
	m.update()
	j := m.jobs[id]
	switch {
	case j == nil:
		return remote.Status{State: remote.Absent}
	case j.done:
		return remote.Status{State: remote.Exited, Code: j.code}
	}
	return remote.Status{State: remote.Running}
}

// Status looks at a job.
func (m *machine) Status(_ context.Context, id string) (remote.Status, error) {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	return m.status(id), nil
}

// StartOrAdopt starts a job once.
func (m *machine) StartOrAdopt(_ context.Context, j remote.Job) (remote.Status, bool, error) {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	_, there := m.jobs[j.RunID]
	if !there {
		m.jobs[j.RunID] = m.begin(j)
	}
	return m.status(j.RunID), there, nil
}

// Follow hands out a line a second.
func (m *machine) Follow(
	ctx context.Context, id string, offset int64, line func(string, int64),
) (remote.Status, error) {
	for {
		m.c.mu.Lock()
		st := m.status(id)
		st.Offset = offset
		j := m.jobs[id]
		var fresh []string
		if j != nil {
			fresh = j.log[min(int(offset), len(j.log)):]
			phase := j.Env["GYBE_PHASE"]
			if m.cut[phase] > 0 && st.State == remote.Running && time.Since(j.begun) > 2*time.Second {
				m.cut[phase]--
				m.c.mu.Unlock()
				return st, &remote.Error{
					Kind: remote.KindClosed, Op: "follow", Err: errors.New("connection reset by peer"),
				}
			}
			if m.reboots[phase] > 0 && st.State == remote.Running && time.Since(j.begun) > 2*time.Second {
				m.reboots[phase]--
				delete(m.jobs, id)
				m.c.mu.Unlock()
				return st, &remote.Error{
					Kind: remote.KindClosed, Op: "follow", Err: errors.New("the machine was rebooted"),
				}
			}
		}
		m.c.mu.Unlock()
		for _, l := range fresh {
			offset++
			line(l, offset)
		}
		if st.State != remote.Running {
			return st, nil
		}
		timer := time.NewTimer(200 * time.Millisecond)
		select {
		case <-ctx.Done():
			timer.Stop()
			return st, context.Cause(ctx)
		case <-timer.C:
		}
	}
}

// CleanupAll forgets jobs.
func (m *machine) CleanupAll(_ context.Context, prefix string) error {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	for id := range m.jobs {
		if strings.HasPrefix(id, prefix) {
			delete(m.jobs, id)
		}
	}
	return nil
}

// Run is not expected.
func (m *machine) Run(context.Context, string, remote.RunOptions) error {
	return errors.New("unexpected")
}

// ReadFile reads the result of a tokens run.
func (m *machine) ReadFile(_ context.Context, name string, _ int64) ([]byte, error) {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	for id, j := range m.jobs {
		if name == remote.Dir(id)+"/result" {
			return []byte(j.result), nil
		}
	}
	return nil, errors.New("no such file")
}

// Output answers the two commands that the driver runs.
func (m *machine) Output(_ context.Context, command string, _ io.Reader, _ int) ([]byte, error) {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	if command == "sudo -n cat /etc/kubernetes/admin.conf" {
		return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],
			"clusters":[{"name":"k","cluster":{"server":"https://inside:6443","certificate-authority-data":%q}}],"users":[{"name":"u","user":{"token":"admin"}}]}`,
			base64.StdEncoding.EncodeToString(m.c.ca)), nil
	}
	for id, j := range m.jobs {
		if command == "tail -n 5 "+remote.Dir(id)+"/log" {
			return []byte(strings.Join(j.log, "\n") + "\n"), nil
		}
	}
	return nil, errors.New("unexpected command: " + command)
}

// serve is the cluster's API.
func (c *cloud) serve(w http.ResponseWriter, r *http.Request) {
	if c.crowd != nil && r.Method == http.MethodPatch {
		c.crowd.join()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("Authorization") != "Bearer admin" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch {
	case r.Method == http.MethodPost:
		c.account = true
		w.WriteHeader(http.StatusCreated)
		_, _ = io.Copy(w, r.Body)
	case r.Method == http.MethodPatch:
		var p struct {
			Metadata struct{ Labels map[string]string }
		}
		_ = json.NewDecoder(r.Body).Decode(&p)
		c.labels[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]] = p.Metadata.Labels
		_, _ = io.WriteString(w, `{"kind":"Node","apiVersion":"v1"}`)
	case r.URL.Path == "/api/v1/nodes":
		var items []string
		for name, looks := range c.nodes {
			status := "True"
			if looks > 0 || name == c.stuck {
				status, c.nodes[name] = "False", looks-1
			}
			items = append(items, fmt.Sprintf(`{"metadata":{"name":%q},"status":{"conditions":[{"type":"Ready","status":%q,"message":"no network yet"}]}}`, name, status))
		}
		_, _ = fmt.Fprintf(w, `{"kind":"NodeList","apiVersion":"v1","items":[%s]}`, strings.Join(items, ","))
	case strings.HasSuffix(r.URL.Path, "/secrets/gybe-token") && c.account:
		_, _ = fmt.Fprintf(w, `{"kind":"Secret","apiVersion":"v1","data":{"token":%q,"ca.crt":%q}}`,
			base64.StdEncoding.EncodeToString([]byte("service-account-token")), base64.StdEncoding.EncodeToString(c.ca))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}
