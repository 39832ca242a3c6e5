package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/stack"
)

// packagedArtifacts are the artifacts of the largest package: half of them in TOSCA.meta and half in the manifest, as
// each of these may have 4 MiB. With a few other files it has the 50,000 entries of limits.package_files.
const packagedArtifacts = 49_900

// packages measures a package with as many entries as a node takes: its onboarding, and reads of its parts.
func (b *bench) packages(ctx context.Context, dir string) error {
	archive := filepath.Join(dir, "many.zip")
	if err := packMany(archive); err != nil {
		return err
	}
	info, err := os.Stat(archive)
	if err != nil {
		return err
	}
	with := fmt.Sprintf("%d entries, %s", packagedArtifacts, mib(info.Size()))
	began := time.Now()
	before, err := b.node.Usage()
	if err != nil {
		return err
	}
	vnfd, err := stack.Onboard(ctx, b.api, archive)
	if err != nil {
		return err
	}
	wall := time.Since(began)
	after, err := b.node.Usage()
	if err != nil {
		return err
	}
	b.row("upload and onboard a package", with, fmt.Sprintf("%s, CPU %s", ms(wall), ms(after.CPU-before.CPU)),
		"peak memory "+mib(after.Peak))
	path := "/vnfpkgm/v2/onboarded_vnf_packages/" + vnfd
	for _, r := range []struct {
		what, path, ranges string
		n                  int
	}{
		{"GET the package", path, "", 20},
		{"GET list of packages", "/vnfpkgm/v2/vnf_packages", "", 20},
		{"GET manifest", path + "/manifest", "", 20},
		{"GET artifacts", path + "/artifacts", "", 10},
		{"GET the last KiB of artifacts", path + "/artifacts", "bytes=-1024", 20},
		{"GET artifacts without those of the manifest", path + "/artifacts?exclude_all_non_mano_artifacts", "", 10},
		{"GET a single artifact", path + "/artifacts/Files/49/49899", "", 40},
		{"GET a single artifact with signatures", path + "/artifacts/Files/49/49899?include_signatures", "", 20},
	} {
		for _, clients := range []int{1, 8} {
			if err := b.measurePart(ctx, r.what, r.path, r.ranges, r.n, clients); err != nil {
				return err
			}
		}
	}
	return nil
}

// measurePart measures reads of a part of a package, and the highest memory of the node so far.
func (b *bench) measurePart(ctx context.Context, what, path, ranges string, n, clients int) error {
	size, err := b.read(ctx, path, ranges)
	if err != nil {
		return err
	}
	get := func(ctx context.Context) error { _, err := b.read(ctx, path, ranges); return err }
	with := fmt.Sprintf("%s, %d client(s)", mib(size), clients)
	if err := b.measure(ctx, what, with, "", n, clients, get); err != nil {
		return err
	}
	now, err := b.node.Usage()
	if err != nil {
		return err
	}
	b.row("  memory of the node", "", mib(now.RSS), "peak "+mib(now.Peak))
	return nil
}

// read reads a part of a package to its end and returns its size.
func (b *bench) read(ctx context.Context, path, ranges string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.node.URL+path, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Version", "2.4.0")
	if ranges != "" {
		req.Header.Set("Range", ranges)
	}
	resp, err := readers.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent {
		err = fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return n, err
}

// packMany writes the package plain with many small artifacts.
func packMany(archive string) (err error) {
	var meta, manifest bytes.Buffer
	meta.WriteString("TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: bench\n" +
		"Entry-Definitions: Definitions/plain_top.vnfd.yaml\nETSI-Entry-Manifest: many.mf\n")
	manifest.WriteString("metadata:\n  vnf_product_name: many\n\nnon_mano_artifact_sets:\n  many:\n")
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	z := zip.NewWriter(f)
	add := func(name string, content []byte) error {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(content)
		}
		return err
	}
	err = filepath.WalkDir(plain, func(file string, d os.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(file, plain+"/"))
		if err != nil || d.IsDir() || strings.HasPrefix(name, "TOSCA-Metadata/") {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return add(name, content)
	})
	if err != nil {
		return err
	}
	for n := range packagedArtifacts {
		name, content := fmt.Sprintf("Files/%d/%d", n/1000, n), fmt.Appendf(nil, "artifact %d\n", n)
		if err := add(name, content); err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		if n%2 == 0 {
			fmt.Fprintf(&meta, "\nName: %s\nAlgorithm: SHA-256\nHash: %x\n", name, sum)
		} else {
			fmt.Fprintf(&manifest, "Source: %s\nAlgorithm: SHA-256\nHash: %x\n", name, sum)
		}
	}
	if err := add("many.mf", manifest.Bytes()); err != nil {
		return err
	}
	if err := add("TOSCA-Metadata/TOSCA.meta", meta.Bytes()); err != nil {
		return err
	}
	return z.Close()
}
