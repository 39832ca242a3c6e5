package ubuntu

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/netstack"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// internet answers a URL of the simulated internet: 404 for a known host's unknown path, 0 for an unknown host.
func internet(u *url.URL) (status int, body []byte) {
	p := u.Path
	switch u.Host {
	case "pkgs.k8s.io":
		if strings.HasSuffix(p, "/Release.key") && kubernetesArchive(strings.TrimPrefix(strings.TrimSuffix(p, "/deb/Release.key"), "/core:/stable:/v")) != nil {
			return 200, armor("kubernetes packages")
		}
		return 403, []byte("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>")
	case "packages.cloud.google.com", "download.docker.com", "apt.kubernetes.io", "baltocdn.com":
		if strings.HasSuffix(p, "gpg") || strings.HasSuffix(p, ".asc") {
			return 200, armor(u.Host)
		}
	case "dl.k8s.io", "cdn.dl.k8s.io", "storage.googleapis.com":
		return kubernetesRelease(p)
	case "raw.githubusercontent.com":
		switch {
		case strings.HasSuffix(p, "/cilium-cli/main/stable.txt"):
			return 200, []byte("v0.18.8\n")
		case strings.HasSuffix(p, "/cilium/main/stable.txt"):
			return 200, []byte("v1.18.4\n")
		case strings.HasSuffix(p, "containerd.service"):
			return 200, []byte(strings.ReplaceAll(containerdUnit, "/usr/bin/", "/usr/local/bin/"))
		case strings.HasSuffix(p, ".yml"), strings.HasSuffix(p, ".yaml"):
			return manifest(path.Base(p))
		}
	case "github.com", "objects.githubusercontent.com":
		return githubRelease(p)
	case "get.helm.sh":
		return 404, nil
	case "cloud-images.ubuntu.com", "google.com", "www.google.com", "registry.k8s.io":
		return 200, []byte("ok\n")
	default:
		if strings.HasSuffix(u.Host, "archive.ubuntu.com") {
			return 200, []byte("ok\n")
		}
		return 0, nil
	}
	return 404, []byte("404: Not Found")
}

func armor(what string) []byte {
	return []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n" + base64.StdEncoding.EncodeToString([]byte("\x99\x01simulated signing key of "+what)) + "\n-----END PGP PUBLIC KEY BLOCK-----\n")
}

func kubernetesRelease(p string) (int, []byte) {
	switch base := path.Base(p); {
	case base == "stable.txt":
		return 200, []byte("v" + LatestKubernetes("1.37"))
	case strings.HasPrefix(base, "stable-"):
		if v := LatestKubernetes(strings.TrimSuffix(strings.TrimPrefix(base, "stable-"), ".txt")); v != "" {
			return 200, []byte("v" + v)
		}
	case base == "kubectl" || base == "kubeadm" || base == "kubelet":
		return 200, process.Stub(base)
	case strings.HasSuffix(base, ".sha256"):
		return 200, []byte(sum(process.Stub(strings.TrimSuffix(base, ".sha256"))))
	}
	return 404, []byte("404 page not found")
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

var assetName = regexp.MustCompile(`^/([^/]+)/([^/]+)/releases/(?:latest/)?download/(?:[^/]+/)?([^/]+)$`)

// githubRelease serves release files of the projects that cluster scripts install.
func githubRelease(p string) (int, []byte) {
	m := assetName.FindStringSubmatch(p)
	if m == nil {
		return 404, []byte("Not Found")
	}
	asset := m[3]
	if base, ok := strings.CutSuffix(asset, ".sha256sum"); ok {
		st, b := githubRelease(strings.TrimSuffix(p, ".sha256sum"))
		if st != 200 {
			return st, b
		}
		return 200, []byte(sum(b) + "  " + base + "\n")
	}
	switch m[2] {
	case "cilium-cli":
		return 200, tarball("cilium")
	case "hubble":
		return 200, tarball("hubble")
	case "containerd":
		return 200, tarball("bin/containerd", "bin/ctr", "bin/containerd-shim-runc-v2")
	case "runc":
		return 200, process.Stub("runc")
	case "plugins":
		return 200, tarball("loopback", "bridge")
	case "cri-tools":
		return 200, tarball("crictl")
	case "calico", "flannel":
		return manifest(asset)
	}
	return 404, []byte("Not Found")
}

// tarball makes the same bytes every time for the same names.
func tarball(names ...string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, n := range names {
		data := process.Stub(path.Base(n))
		_ = w.WriteHeader(&tar.Header{Name: n, Mode: 0o755, Size: int64(len(data)), ModTime: time.Unix(1700000000, 0)})
		_, _ = w.Write(data)
	}
	_ = w.Close()
	_ = z.Close()
	return b.Bytes()
}

// manifest serves the network plugins that are installed with kubectl apply.
func manifest(name string) (int, []byte) {
	ds := map[string]string{"calico.yaml": "calico-node", "kube-flannel.yml": "kube-flannel-ds", "tigera-operator.yaml": "tigera-operator"}[name]
	if ds == "" {
		return 404, []byte("404: Not Found")
	}
	return 200, fmt.Appendf(nil, "apiVersion: apps/v1\nkind: DaemonSet\nmetadata:\n  name: %[1]s\n  namespace: kube-system\n  labels: {k8s-app: %[1]s}\nspec:\n  selector:\n    matchLabels: {k8s-app: %[1]s}\n"+
		"  template:\n    metadata:\n      labels: {k8s-app: %[1]s}\n    spec:\n      hostNetwork: true\n      tolerations: [{operator: Exists}]\n      containers:\n      - {name: %[1]s, image: docker.io/%[1]s}\n", ds)
}

// webRequest is what curl and wget have in common.
type webRequest struct {
	method, url           string
	body                  []byte
	header                http.Header
	insecure, fail        bool
	follow, headOnly      bool
	caFile, cert, key     string
	total, connect        time.Duration
	user, dumpHeaders     string
	include, silent, show bool
}

// webError has curl's exit status.
type webError struct {
	code int
	text string
}

func (e webError) Error() string { return e.text }

// do performs the request. Names of the simulated internet are answered here, addresses over the machine's network.
func (r *webRequest) do(ctx context.Context, o *OS, p *process.Proc) (*http.Response, []byte, error) {
	raw := r.url
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return nil, nil, webError{3, "URL using bad/illegal format or missing URL"}
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, webError{1, fmt.Sprintf("Protocol \"%s\" not supported or disabled in libcurl", u.Scheme)}
	}
	if r.total > 0 {
		var cancel context.CancelFunc
		ctx, cancel = o.Sys.Clock.WithTimeout(ctx, r.total)
		defer cancel()
	}
	if _, err := o.Net.Resolve(u.Hostname()); err != nil {
		if o.Net.IsCut() {
			return nil, nil, webError{6, "Could not resolve host: " + u.Hostname()}
		}
		status, body := internet(u)
		if status == 0 {
			return nil, nil, webError{6, "Could not resolve host: " + u.Hostname()}
		}
		return &http.Response{StatusCode: status, Proto: "HTTP/2", Header: http.Header{"Content-Length": {strconv.Itoa(len(body))}}}, body, nil
	}
	return r.overNetwork(ctx, o, p, u)
}

func (r *webRequest) overNetwork(ctx context.Context, o *OS, p *process.Proc, u *url.URL) (*http.Response, []byte, error) {
	conf := &tls.Config{InsecureSkipVerify: r.insecure} //nolint:gosec // curl -k
	if r.caFile != "" {
		b, err := p.ReadFile(r.caFile)
		if err != nil {
			return nil, nil, webError{77, "error setting certificate verify locations:  CAfile: " + r.caFile}
		}
		conf.RootCAs = x509.NewCertPool()
		conf.RootCAs.AppendCertsFromPEM(b)
	} else {
		conf.RootCAs = x509.NewCertPool() // the system's roots know nobody here
	}
	if r.cert != "" {
		certPEM, err1 := p.ReadFile(r.cert)
		keyPEM := certPEM
		var err2 error
		if r.key != "" {
			keyPEM, err2 = p.ReadFile(r.key)
		}
		pair, err3 := tls.X509KeyPair(certPEM, keyPEM)
		if errors.Join(err1, err2, err3) != nil {
			return nil, nil, webError{58, "could not load PEM client certificate"}
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	var dialErr atomic.Pointer[error] // the transport dials on a goroutine of its own
	tr := &http.Transport{
		TLSClientConfig: conf, DisableKeepAlives: true, ForceAttemptHTTP2: false,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			if r.connect > 0 {
				var cancel context.CancelFunc
				ctx, cancel = o.Sys.Clock.WithTimeout(ctx, r.connect)
				defer cancel()
			}
			c, err := o.Net.Dial(ctx, addr)
			if err != nil {
				dialErr.Store(&err)
			}
			return c, err
		},
	}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr}
	if !r.follow {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, nil, webError{3, "URL using bad/illegal format or missing URL"}
	}
	req.Header = r.header
	if name, pw, ok := strings.Cut(r.user, ":"); ok {
		req.SetBasicAuth(name, pw)
	}
	res, err := client.Do(req)
	if err != nil {
		var derr error
		if e := dialErr.Load(); e != nil {
			derr = *e
		}
		return nil, nil, curlError(ctx, u, err, derr)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err != nil {
		return nil, nil, webError{56, "Recv failure: Connection reset by peer"}
	}
	return res, body, nil
}

func curlError(ctx context.Context, u *url.URL, err, dialErr error) error {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	switch {
	case errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		return webError{28, "Connection timed out"}
	case dialErr != nil:
		if netstack.NoHost(dialErr) {
			return webError{6, "Could not resolve host: " + u.Hostname()}
		}
		return webError{7, fmt.Sprintf("Failed to connect to %s port %s after 0 ms: %s", u.Hostname(), port, process.Reason(dialErr))}
	case errors.As(err, &unknown), errors.As(err, &host):
		return webError{60, "SSL certificate problem: unable to get local issuer certificate"}
	case u.Scheme == "https":
		return webError{35, "OpenSSL SSL_connect: Connection reset by peer in connection to " + u.Host}
	}
	return webError{52, "Empty reply from server"}
}

func (o *OS) curl(ctx context.Context, p *process.Proc) int {
	r := &webRequest{header: http.Header{}}
	out, format, remoteName, retries, urls := "", "", false, 0, []string{}
	args := p.Args[1:]
	flagVal := map[string]string{
		"-o": "o", "--output": "o", "-H": "H", "--header": "H", "-X": "X", "--request": "X", "-d": "d", "--data": "d", "--data-raw": "d", "--data-binary": "d",
		"-w": "w", "--write-out": "w", "-m": "m", "--max-time": "m", "--connect-timeout": "ct", "--retry": "r", "--retry-delay": "", "--retry-max-time": "",
		"--cacert": "ca", "--cert": "E", "-E": "E", "--key": "key", "-u": "u", "--user": "u", "-A": "", "--user-agent": "", "--noproxy": "", "-x": "", "--proxy": "",
		"--resolve": "", "--url": "url", "--tlsv1": "", "-D": "", "--dump-header": "", "--proto": "", "--output-dir": "", "-C": "", "--interface": "", "--limit-rate": "",
	}
	value := func(k, v string) bool {
		switch k {
		case "o":
			out = v
		case "H":
			name, val, _ := strings.Cut(v, ":")
			r.header.Add(strings.TrimSpace(name), strings.TrimSpace(val))
		case "X":
			r.method = v
		case "d":
			if f, ok := strings.CutPrefix(v, "@"); ok {
				b, err := p.ReadFile(f)
				if err != nil {
					return false
				}
				r.body = b
			} else {
				r.body = append(r.body, v...)
			}
			if r.method == "" {
				r.method = http.MethodPost
			}
		case "w":
			format = v
		case "m", "ct":
			s, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return false
			}
			if k == "m" {
				r.total = seconds(s)
			} else {
				r.connect = seconds(s)
			}
		case "r":
			retries, _ = strconv.Atoi(v)
		case "ca":
			r.caFile = v
		case "E":
			r.cert = v
		case "key":
			r.key = v
		case "u":
			r.user = v
		case "url":
			urls = append(urls, v)
		}
		return true
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if k, ok := flagVal[a]; ok {
			i++
			if i >= len(args) || !value(k, args[i]) {
				p.Errorf("curl: option %s: requires parameter\n", a)
				return 2
			}
			continue
		}
		if strings.HasPrefix(a, "--") {
			switch a {
			case "--fail", "--fail-with-body":
				r.fail = true
			case "--silent":
				r.silent = true
			case "--show-error":
				r.show = true
			case "--location":
				r.follow = true
			case "--insecure":
				r.insecure = true
			case "--head":
				r.headOnly = true
			case "--include":
				r.include = true
			case "--remote-name", "--remote-name-all":
				remoteName = true
			case "--version":
				p.Printf("curl 7.81.0 (x86_64-pc-linux-gnu) libcurl/7.81.0 OpenSSL/3.0.2\n")
				return 0
			}
			continue
		}
		if len(a) > 1 && a[0] == '-' {
			for j := 1; j < len(a); j++ {
				f := "-" + string(a[j])
				if k, ok := flagVal[f]; ok {
					v := a[j+1:]
					if v == "" {
						if i++; i < len(args) {
							v = args[i]
						}
					}
					if !value(k, v) {
						return 2
					}
					break
				}
				switch a[j] {
				case 'f':
					r.fail = true
				case 's':
					r.silent = true
				case 'S':
					r.show = true
				case 'L':
					r.follow = true
				case 'k':
					r.insecure = true
				case 'I':
					r.headOnly = true
				case 'i':
					r.include = true
				case 'O':
					remoteName = true
				}
			}
			continue
		}
		urls = append(urls, a)
	}
	if len(urls) == 0 {
		p.Errorf("curl: no URL specified!\ncurl: try 'curl --help' for more information\n")
		return 2
	}
	if r.method == "" {
		r.method = http.MethodGet
	}
	if r.headOnly {
		r.method = http.MethodHead
	}
	status := 0
	for _, u := range urls {
		r.url = u
		target := out
		if remoteName {
			target = path.Base(u)
		}
		for try := 0; ; try++ {
			if status = o.fetchOne(ctx, p, r, target, format); status == 0 || try >= retries || ctx.Err() != nil || status == 22 {
				break
			}
			if o.Sys.Clock.Sleep(ctx, seconds(1)) != nil {
				return 1
			}
		}
	}
	return status
}

func (o *OS) fetchOne(ctx context.Context, p *process.Proc, r *webRequest, out, format string) int {
	start := o.Sys.Clock.Now()
	res, body, err := r.do(ctx, o, p)
	complain := func(code int, text string) int {
		if !r.silent || r.show {
			p.Errorf("curl: (%d) %s\n", code, text)
		}
		return code
	}
	code, status := 0, 0
	var we webError
	switch {
	case errors.As(err, &we):
		status = complain(we.code, we.text)
	case err != nil:
		status = complain(56, err.Error())
	default:
		code = res.StatusCode
		if r.fail && code >= 400 {
			status = complain(22, fmt.Sprintf("The requested URL returned error: %d", code))
			break
		}
		if r.headOnly || r.include {
			var h bytes.Buffer
			_, _ = fmt.Fprintf(&h, "%s %d \r\n", res.Proto, code)
			_ = res.Header.Write(&h)
			h.WriteString("\r\n")
			body = append(h.Bytes(), body...)
		}
		w := p.Out()
		if out != "" && out != "-" {
			fd, err := p.Open(out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
			if err != nil {
				status = complain(23, "Failure writing output to destination")
				break
			}
			defer fd.Close()
			w = fd.Writer(ctx)
		}
		if _, err := w.Write(body); err != nil {
			status = complain(23, "Failure writing output to destination")
		}
	}
	if format != "" {
		p.Printf("%s", strings.NewReplacer("%{http_code}", fmt.Sprintf("%03d", code), "%{response_code}", fmt.Sprintf("%03d", code), `\n`, "\n",
			"%{time_total}", fmt.Sprintf("%.6f", o.Sys.Clock.Now().Sub(start).Seconds()), "%{exitcode}", strconv.Itoa(status)).Replace(format))
	}
	return status
}

func (o *OS) wget(ctx context.Context, p *process.Proc) int {
	r := &webRequest{method: http.MethodGet, header: http.Header{}, fail: true, follow: true}
	out, urls, dir := "", []string{}, ""
	for i := 1; i < len(p.Args); i++ {
		a := p.Args[i]
		next := func() string {
			if i++; i < len(p.Args) {
				return p.Args[i]
			}
			return ""
		}
		switch {
		case a == "-O" || a == "--output-document":
			out = next()
		case strings.HasPrefix(a, "--output-document="):
			out = a[len("--output-document="):]
		case a == "-P":
			dir = next()
		case a == "-T" || a == "-t" || a == "--header" || a == "-U" || a == "-o":
			next()
		case a == "-q" || a == "--quiet" || a == "-nv":
			r.silent = true
		case strings.HasPrefix(a, "-qO"), strings.HasPrefix(a, "-O"):
			r.silent = strings.HasPrefix(a, "-q")
			if out = a[strings.IndexByte(a, 'O')+1:]; out == "" {
				out = next()
			}
		case a == "--no-check-certificate":
			r.insecure = true
		case strings.HasPrefix(a, "-"):
		default:
			urls = append(urls, a)
		}
	}
	if len(urls) == 0 {
		return p.Errorf("wget: missing URL\n")
	}
	for _, u := range urls {
		r.url = u
		target := out
		if target == "" {
			target = path.Join(dir, path.Base(u))
		}
		res, body, err := r.do(ctx, o, p)
		if err != nil {
			p.Errorf("wget: unable to resolve host address or connect: %v\n", err)
			return 4
		}
		if res.StatusCode >= 400 {
			if !r.silent {
				p.Errorf("ERROR %d: %s.\n", res.StatusCode, http.StatusText(res.StatusCode))
			}
			return 8
		}
		if target == "-" {
			_, _ = p.Out().Write(body)
		} else if err := p.WriteFile(target, body, 0o666); err != nil {
			p.Errorf("%s: %s\n", target, process.Reason(err))
			return 3
		}
	}
	return 0
}

// gpg knows --dearmor and --import; keys are not looked into.
func gpg(_ context.Context, p *process.Proc) int {
	out, in, dearmor, yes := "", "-", false, false
	for i := 1; i < len(p.Args); i++ {
		switch a := p.Args[i]; {
		case a == "-o" || a == "--output":
			if i++; i < len(p.Args) {
				out = p.Args[i]
			}
		case strings.HasPrefix(a, "--output="):
			out = a[len("--output="):]
		case a == "--dearmor" || a == "--dearmour":
			dearmor = true
		case a == "--yes":
			yes = true
		case a == "--keyserver" || a == "--keyring" || a == "--recv-keys" || a == "--homedir":
			i++
		case strings.HasPrefix(a, "-"):
		default:
			in = a
		}
	}
	if !dearmor {
		if slices.Contains(p.Args, "--version") {
			p.Printf("gpg (GnuPG) 2.2.27\n")
		}
		return 0
	}
	b, err := p.ReadFile(in)
	if err != nil {
		p.Errorf("gpg: can't open '%s': %s\n", in, process.Reason(err))
		return 2
	}
	text := string(b)
	if !strings.Contains(text, "BEGIN PGP") {
		p.Errorf("gpg: no valid OpenPGP data found.\n")
		return 2
	}
	var data []byte
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "-----") {
			d, err := base64.StdEncoding.DecodeString(line)
			if err != nil {
				p.Errorf("gpg: invalid radix64 character\n")
				return 2
			}
			data = append(data, d...)
		}
	}
	if out == "" || out == "-" {
		_, _ = p.Out().Write(data)
		return 0
	}
	if _, err := p.FS().Stat(p.Abs(out)); err == nil && !yes {
		p.Errorf("gpg: dearmoring failed: File exists\n")
		return 2
	}
	if err := p.WriteFile(out, data, 0o644); err != nil {
		p.Errorf("gpg: can't create '%s': %s\n", out, process.Reason(err))
		return 2
	}
	return 0
}

// Fetch gets a URL as kubectl does for manifests: from the simulated internet, or over the machine's network.
func (o *OS) Fetch(ctx context.Context, p *process.Proc, rawURL string) ([]byte, error) {
	r := &webRequest{method: http.MethodGet, url: rawURL, header: http.Header{}, follow: true}
	res, body, err := r.do(ctx, o, p)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("server reported %d %s, status code=%d", res.StatusCode, http.StatusText(res.StatusCode), res.StatusCode)
	}
	return body, nil
}
