package vnfpkg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/cms"
	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
)

// Build creates an archive of the package in a source folder and checks it like onboarding. It writes the file at out
// only if there was no error, and replaces an existing one.
func Build(ctx context.Context, dir, out string, lim Limits) (*Contents, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open package folder: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	return create(ctx, out, lim, func(w io.Writer) error {
		_, err := csar.Build(ctx, root, w, lim.Archive)
		return err
	})
}

// create writes a package with write, checks it and gives it its name.
func create(ctx context.Context, out string, lim Limits, write func(w io.Writer) error) (*Contents, error) {
	temp := out + ".tmp" + strings.ToLower(randomText()[:8])
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a package is no secret
	if err != nil {
		return nil, fmt.Errorf("create package: %w", err)
	}
	defer func() { _ = os.Remove(temp) }() // gone already if all went well
	if err := errors.Join(write(f), f.Close()); err != nil {
		return nil, err
	}
	contents, err := Validate(ctx, temp, lim)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(temp, out); err != nil {
		return nil, fmt.Errorf("create package: %w", err)
	}
	return contents, nil
}

// Signing says how Sign signs a package.
type Signing struct {
	Identity cms.Identity
	// Option is signature.Option1 or Option2.
	Option string
	// Artifacts also signs single artifacts, with option 1.
	Artifacts bool
	// Time is the signing time.
	Time time.Time
}

// Sign creates a signed copy of a package, an archive or a source folder, and checks it like onboarding. It writes the
// file at out only if there was no error. The same arguments give the same bytes.
func Sign(ctx context.Context, path, out string, s Signing, lim Limits) (*Contents, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open package: %w", err)
	}
	if info.IsDir() {
		built := out + ".unsigned" + strings.ToLower(randomText()[:8])
		defer func() { _ = os.Remove(built) }() // of this call only
		if _, err := Build(ctx, path, built, lim); err != nil {
			return nil, err
		}
		path = built
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open package: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	if info, err = f.Stat(); err != nil {
		return nil, fmt.Errorf("open package: %w", err)
	}
	a, err := csar.Open(f, info.Size(), lim.Archive)
	if err != nil {
		return nil, err
	}
	if s.Option == signature.Option2 {
		name := strings.TrimSuffix(filepath.Base(out), filepath.Ext(out))
		return create(ctx, out, lim, func(w io.Writer) error {
			return signature.SignArchive(ctx, f, w, s.Identity, s.Time, name)
		})
	}
	p, err := parse(a, lim.VNFD)
	if err != nil {
		return nil, err
	}
	return create(ctx, out, lim, func(w io.Writer) error {
		return signature.SignManifest(ctx, a, w, s.Identity, s.Time, p.manifestMetadata(s.Time), s.Artifacts)
	})
}

// manifestMetadata are the lines of the metadata of a manifest (SOL004 clause 4.3.2).
func (p *parsed) manifestMetadata(at time.Time) []string {
	m := p.vnfd.VNFD
	var out []string
	for _, kv := range [][2]string{
		{"vnfd_id", m.ID},
		{"vnf_product_name", m.ProductName},
		{"vnf_provider_id", m.Provider},
		{"vnf_software_version", m.SoftwareVersion},
		{"vnf_package_version", m.Version},
		{"vnf_release_date_time", at.UTC().Format(time.RFC3339)},
		{"vnfm_info", strings.Join(m.VnfmInfo, ",")},
	} {
		if text := strings.Join(strings.Fields(kv[1]), " "); text != "" {
			out = append(out, kv[0]+": "+text)
		}
	}
	return out
}
