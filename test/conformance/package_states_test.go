package conformance_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// The artifacts of smallArchive. The media type of the second one is not known.
const (
	scriptArtifact = "Scripts/check.sh"
	opaqueArtifact = "Files/data.opaque"
)

// smallArchive is a package with a VNFD of one file, a manifest and two artifacts.
func smallArchive(vnfd string) []byte {
	f := vnfpkgtest.Files(vnfd)
	f["Definitions/vnfd.mf"] = "metadata:\n  vnf_product_name: Small\n" +
		"  compatible_specification_versions: 2.7.1,3.3.1\n"
	for _, path := range []string{scriptArtifact, opaqueArtifact} {
		f[path] = "#!/bin/sh\n" + strings.Repeat("# one of the artifacts\n", 10)
		f[csar.MetaPath] += fmt.Sprintf("\nName: %s\nContent-Type: application/octet-stream\nAlgorithm: SHA-256\n"+
			"Hash: %x\n", path, sha256.Sum256([]byte(f[path])))
	}
	return vnfpkgtest.Zip(f)
}

// packageWithArtifacts is one that cases do not change.
func (n *node) packageWithArtifacts(ctx context.Context) (values, error) {
	return n.once("artifacts", func() (values, error) { return n.packageEnabled(context.WithoutCancel(ctx)) })
}

// packages are more than a page of packages, one of them with software images.
func (n *node) packages(ctx context.Context) (values, error) {
	return n.once("packages", func() (values, error) {
		ctx := context.WithoutCancel(ctx)
		for range pageSize {
			if _, err := n.packageEnabled(ctx); err != nil {
				return nil, err
			}
		}
		return n.onboarded(ctx)
	})
}

func (n *node) packageCreated(ctx context.Context) (values, error) {
	p, err := n.api.CreatePackage(ctx, sol.CreateVnfPkgInfoRequest{})
	if err != nil {
		return nil, err
	}
	return values{
		"package": p.ID, "vnfd": uuid.NewString(), "artifact": scriptArtifact, "opaque": opaqueArtifact,
	}, nil
}

// packageEnabled is a package with a VNFD of one file.
func (n *node) packageEnabled(ctx context.Context) (values, error) {
	v, err := n.packageCreated(ctx)
	if err != nil {
		return nil, err
	}
	if err := n.api.UploadPackage(ctx, v["package"], bytes.NewReader(smallArchive(v["vnfd"]))); err != nil {
		return nil, err
	}
	return v, n.packageBecomes(ctx, v, sol.PackageOnboardingStateOnboarded)
}

func (n *node) packageBecomes(ctx context.Context, v values, state sol.PackageOnboardingState) error {
	return await(ctx, "the package is "+string(state), func() (bool, error) {
		p, err := n.api.Package(ctx, v["package"])
		if err != nil {
			return false, err
		}
		if f := p.OnboardingFailureDetails; f != nil {
			return false, fmt.Errorf("the package was refused: %s", f.Detail)
		}
		return p.OnboardingState == state, nil
	})
}

func (n *node) packageDisabled(ctx context.Context) (values, error) {
	v, err := n.packageEnabled(ctx)
	if err != nil {
		return nil, err
	}
	return v, n.api.UpdatePackage(ctx, v["package"], sol.VnfPkgInfoModifications{
		OperationalState: sol.PackageOperationalStateDisabled,
	})
}

// packageInUse is disabled, and an instance refers to it.
func (n *node) packageInUse(ctx context.Context) (values, error) {
	v, err := n.packageEnabled(ctx)
	if err != nil {
		return nil, err
	}
	if _, err = n.api.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: v["vnfd"]}); err != nil {
		return nil, err
	}
	return v, n.api.UpdatePackage(ctx, v["package"], sol.VnfPkgInfoModifications{
		OperationalState: sol.PackageOperationalStateDisabled,
	})
}
