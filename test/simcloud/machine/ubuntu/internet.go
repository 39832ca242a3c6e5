package ubuntu

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

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
