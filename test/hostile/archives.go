package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// badArchive uploads an archive that is damaged or expensive, waits until it is refused, and deletes the package.
func (b *battle) badArchive(ctx context.Context, kind string, n int) {
	good, err := os.ReadFile(b.archive)
	if err != nil {
		b.breaks(kind, "%s", err)
		return
	}
	archive := b.archives(good)[n%5]
	status, answer := b.send(ctx, kind, http.MethodPost, "/vnfpkgm/v1/vnf_packages", []byte(`{}`))
	var made sol.VnfPkgInfo
	if status != http.StatusCreated || json.Unmarshal(answer, &made) != nil {
		return
	}
	path := "/vnfpkgm/v1/vnf_packages/" + made.ID
	req, err := b.request(http.MethodPut, path+"/package_content", archive)
	if err != nil {
		b.breaks(kind, "make a request: %s", err)
		return
	}
	req.Header.Set("Content-Type", "application/zip")
	b.call(ctx, kind, false, req)
	if n%4 != 0 { // the others are deleted while they are processed
		b.processed(ctx, kind, path)
	}
	for range 20 {
		if status, _ := b.send(ctx, kind, http.MethodDelete, path, nil); status != http.StatusConflict {
			return
		}
		wait(ctx, time.Second)
	}
	if ctx.Err() == nil {
		b.breaks(kind, "%s cannot be deleted", path)
	}
}

// processed waits until a package is accepted or refused.
func (b *battle) processed(ctx context.Context, kind, path string) {
	var p struct {
		OnboardingState sol.PackageOnboardingState `json:"onboardingState"`
	}
	for began := time.Now(); ctx.Err() == nil; wait(ctx, 100*time.Millisecond) {
		status, raw := b.send(ctx, kind, http.MethodGet, path, nil)
		if status == http.StatusOK && json.Unmarshal(raw, &p) == nil &&
			p.OnboardingState != sol.PackageOnboardingStateProcessing &&
			p.OnboardingState != sol.PackageOnboardingStateUploading {
			return
		}
		if time.Since(began) > time.Minute {
			b.breaks(kind, "%s is still %s after a minute", path, p.OnboardingState)
			return
		}
	}
}

// archives are what an attacker uploads.
func (b *battle) archives(good []byte) [][]byte {
	flipped := bytes.Clone(good)
	flipped[rand.IntN(len(flipped))] ^= 1 << rand.IntN(8)
	return [][]byte{
		flipped,
		good[:rand.IntN(len(good))],
		archive(map[string]string{"TOSCA-Metadata/TOSCA.meta": meta, "Definitions/a.yaml": aliases(9)}),
		archive(map[string]string{
			"TOSCA-Metadata/TOSCA.meta": meta, "Definitions/a.yaml": "a: " + strings.Repeat("[", 10_000),
		}),
		archive(large()),
	}
}

const meta = "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: x\nEntry-Definitions: Definitions/a.yaml\n"

// large are imported files of many megabytes, which compress well.
func large() map[string]string {
	files := map[string]string{"TOSCA-Metadata/TOSCA.meta": meta}
	var imports strings.Builder
	for i := range 20 {
		name := fmt.Sprintf("b%d.yaml", i)
		fmt.Fprintf(&imports, "  - %s\n", name)
		files["Definitions/"+name] = "description: " + strings.Repeat("x", 3_000_000) + "\n"
	}
	files["Definitions/a.yaml"] = "tosca_definitions_version: tosca_simple_yaml_1_2\nimports:\n" + imports.String()
	return files
}

// aliases is a document whose size doubles ten times with each level.
func aliases(levels int) string {
	var out strings.Builder
	out.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i <= levels; i++ {
		refs := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", ")
		fmt.Fprintf(&out, "a%d: &a%d [%s]\n", i, i, refs)
	}
	return out.String()
}

func archive(files map[string]string) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			panic(err) // a buffer takes everything
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}
