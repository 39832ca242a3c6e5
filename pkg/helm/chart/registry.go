package chart

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// layerType is the media type of a packed chart in a registry.
const layerType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// maxManifest bounds the manifest of an artifact in a registry, in bytes.
const maxManifest = 1 << 20

// pull brings a chart from an OCI registry.
func (s *Servers) pull(ctx context.Context, src Source) (*chart.Chart, error) {
	ref := strings.TrimSuffix(strings.TrimPrefix(src.Repository, "oci://"), "/") + "/" + src.Name
	r, err := remote.NewRepository(ref)
	if err != nil {
		return nil, unusable(src.String(), err)
	}
	r.MaxMetadataBytes = maxManifest
	client := &auth.Client{Client: s.http, Cache: auth.NewCache()}
	if src.Username != "" {
		client.Credential = auth.StaticCredential(
			r.Reference.Host(), auth.Credential{Username: src.Username, Password: src.Password},
		)
	}
	r.Client = client
	// A tag cannot have the + of a version; Helm writes _ for it.
	desc, err := r.Resolve(ctx, strings.ReplaceAll(src.Version, "+", "_"))
	if err != nil {
		return nil, fromRegistry(src, err)
	}
	raw, err := fetch(ctx, r, desc, maxManifest)
	if err != nil {
		return nil, fromRegistry(src, err)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, unusable(src.String(), fmt.Errorf("its manifest is not JSON: %w", err))
	}
	n := slices.IndexFunc(m.Layers, func(l ocispec.Descriptor) bool { return l.MediaType == layerType })
	if n < 0 {
		return nil, unusable(src.String(), errors.New("the artifact in the registry is not a Helm chart"))
	}
	if raw, err = fetch(ctx, r, m.Layers[n], maxArchive); err != nil {
		return nil, fromRegistry(src, err)
	}
	return unpack(src.String(), bytes.NewReader(raw))
}

// errLarge is the error of content that is larger than it may be.
var errLarge = errors.New("it is too large")

// fetch reads content of at most limit bytes and checks its digest.
func fetch(ctx context.Context, r *remote.Repository, desc ocispec.Descriptor, limit int64) ([]byte, error) {
	if desc.Size > limit {
		return nil, errLarge
	}
	return content.FetchAll(ctx, r, desc)
}

// fromRegistry makes the error of an answer of a registry.
func fromRegistry(src Source, err error) error {
	if answer, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		return refused(src, answer.URL.Redacted(), answer.StatusCode)
	}
	switch {
	case errors.Is(err, errLarge):
		return unusable(src.String(), err)
	case strings.HasSuffix(err.Error(), "not found"):
		return refused(src, src.Repository, 404)
	}
	return unreachable(src, err)
}
