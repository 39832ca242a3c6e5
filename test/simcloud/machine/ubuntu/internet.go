package ubuntu

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
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
		if strings.HasSuffix(p, "/Release.key") && kubernetesArchive(
			strings.TrimPrefix(strings.TrimSuffix(p, "/deb/Release.key"), "/core:/stable:/v"),
		) != nil {
			return 200, armor("kubernetes packages")
		}
		return 403, []byte("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>")
	case "github.com":
		return githubRelease(p)
	default:
		if strings.HasSuffix(u.Host, "archive.ubuntu.com") {
			return 200, []byte("ok\n")
		}
		return 0, nil
	}
}

func armor(what string) []byte {
	return []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n" + base64.StdEncoding.EncodeToString(
		[]byte("\x99\x01simulated signing key of "+what),
	) + "\n-----END PGP PUBLIC KEY BLOCK-----\n")
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// ciliumCLI is the release file whose checksum the sample package pins.
const (
	ciliumCLI    = "/cilium/cilium-cli/releases/download/v0.18.8/cilium-linux-amd64.tar.gz"
	ciliumCLISum = "422940f0b7eb6eabc1e126945d1772e3f824c3f4f9fbb0df0dbbf00a271311ba"
)

func init() { process.Publish(sum(tarball(ciliumCLI, "cilium")), ciliumCLISum) }

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
		return 200, []byte(process.Published(sum(b)) + "  " + base + "\n")
	}
	if m[2] == "cilium-cli" {
		return 200, tarball(p, "cilium")
	}
	return 404, []byte("Not Found")
}

// tarball makes the same bytes every time for the same URL.
func tarball(url string, names ...string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Comment = url
	w := tar.NewWriter(z)
	for _, n := range names {
		data := process.Executable(path.Base(n))
		_ = w.WriteHeader(&tar.Header{Name: n, Mode: 0o755, Size: int64(len(data)), ModTime: time.Unix(1700000000, 0)})
		_, _ = w.Write(data)
	}
	_ = w.Close()
	_ = z.Close()
	return b.Bytes()
}
