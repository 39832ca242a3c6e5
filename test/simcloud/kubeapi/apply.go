package kubeapi

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

func (c *Cluster) apply(ctx context.Context, u User, namespace string, manifest []byte) (string, error) {
	var done []string
	docs := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return strings.Join(done, "\n"), nil
		}
		if err != nil {
			return strings.Join(done, "\n"), &StatusError{
				Code: http.StatusBadRequest, Reason: "BadRequest", Message: err.Error(),
			}
		}
		b, err := yaml.ToJSON(doc)
		if err != nil {
			return strings.Join(done, "\n"), &StatusError{
				Code: http.StatusBadRequest, Reason: "BadRequest",
				Message: "error parsing the manifest: " + err.Error(),
			}
		}
		if s := string(bytes.TrimSpace(b)); s == "null" || s == "" {
			continue
		}
		o, err := decode(b)
		if err != nil {
			return strings.Join(done, "\n"), asStatusError(err)
		}
		what, err := c.applyAll(ctx, u, namespace, o)
		done = append(done, what...)
		if err != nil {
			return strings.Join(done, "\n"), err
		}
	}
}

// applyAll applies one object, or the objects of a List.
func (c *Cluster) applyAll(ctx context.Context, u User, namespace string, o Object) ([]string, error) {
	items, ok := o["items"].([]any)
	if !ok || String(o, "kind") != "List" {
		what, err := c.applyOne(ctx, u, namespace, o)
		if err != nil {
			return nil, err
		}
		return []string{what}, nil
	}
	var done []string
	for _, x := range items {
		item, _ := x.(map[string]any)
		what, err := c.applyOne(ctx, u, namespace, item)
		if err != nil {
			return done, err
		}
		done = append(done, what)
	}
	return done, nil
}

func (c *Cluster) applyOne(ctx context.Context, u User, namespace string, o Object) (string, error) {
	version, kind := String(o, "apiVersion"), String(o, "kind")
	r, ok := c.store.FindKind(version, kind)
	if !ok {
		return "", &StatusError{Code: http.StatusNotFound, Reason: "NotFound", Message: fmt.Sprintf(
			"resource mapping not found for name: %q namespace: %q: no matches for kind %q in version %q", Name(o),
			Namespace(o), kind, version,
		)}
	}
	ns := cmp.Or(Namespace(o), namespace, "default")
	body, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", kind, err)
	}
	what := strings.ToLower(kind)
	if r.Group != "" {
		what += "." + r.Group
	}
	what += "/" + Name(o)
	code, old := c.do(ctx, u, http.MethodGet, r.path(ns, Name(o)), "", nil)
	if code == http.StatusNotFound {
		if code, out := c.do(ctx, u, http.MethodPost, r.path(ns, ""), "application/json",
			body); code >= http.StatusBadRequest {
			return "", statusError(code, out)
		}
		return what + " created", nil
	}
	if code >= http.StatusBadRequest {
		return "", statusError(code, old)
	}
	how := "application/merge-patch+json"
	if scheme.Scheme.Recognizes(r.GVK()) {
		how = "application/strategic-merge-patch+json"
	}
	code, out := c.do(ctx, u, http.MethodPatch, r.path(ns, Name(o)), how, body)
	if code >= http.StatusBadRequest {
		return "", statusError(code, out)
	}
	if revision(old) == revision(out) {
		return what + " unchanged", nil
	}
	return what + " configured", nil
}

func revision(object []byte) string {
	var o struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(object, &o)
	return o.Metadata.ResourceVersion
}

// asStatusError turns an error of the API into one for kubectl.
func asStatusError(err error) *StatusError {
	var st apierrors.APIStatus
	if !errors.As(err, &st) {
		return &StatusError{Code: http.StatusInternalServerError, Reason: "InternalError", Message: err.Error()}
	}
	s := st.Status()
	return &StatusError{Code: int(s.Code), Reason: string(s.Reason), Message: s.Message}
}
