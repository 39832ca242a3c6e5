package kubeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// maxBody bounds a request body, as the real server does.
const maxBody = 3 << 20

// body reads the request's object, JSON or YAML.
func (c call) body() ([]byte, string, error) {
	kind, _, err := mime.ParseMediaType(c.req.Header.Get("Content-Type"))
	if err != nil {
		kind = "application/json"
	}
	b, err := io.ReadAll(io.LimitReader(c.req.Body, maxBody+1))
	if err != nil {
		return nil, "", apierrors.NewBadRequest(err.Error())
	}
	if len(b) > maxBody {
		return nil, "", apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return b, kind, nil
}

func (c call) object() (Object, error) {
	b, kind, err := c.body()
	if err != nil {
		return nil, err
	}
	switch kind {
	case "application/json":
	case "application/vnd.kubernetes.protobuf":
		return c.protobuf(b)
	case "application/yaml":
		if b, err = yaml.ToJSON(b); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	default:
		return nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", c.res.GroupResource(), "",
			"the body of the request was in an unknown format - accepted media types include: application/json, "+
				"application/yaml", 0, true)
	}
	o, err := decode(b)
	if err != nil {
		return nil, err
	}
	return o, c.fitting(o)
}

// protobuf reads what typed clients send unless they were told otherwise.
func (c call) protobuf(b []byte) (Object, error) {
	t, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(b, nil, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(t)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	o["apiVersion"], o["kind"] = gvk.GroupVersion().String(), gvk.Kind
	return o, c.fitting(o)
}

// fitting refuses an object of another kind than the path's.
func (c call) fitting(o Object) error {
	if k := String(o, "kind"); k != "" && k != c.res.Kind && c.sub == "" && c.res.Kind != "" &&
		c.req.Method != http.MethodDelete {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"%s in version %q cannot be handled as a %s: converting (%s) to (%s): unknown conversion", k, c.res.Version,
			c.res.Kind, k, c.res.Kind,
		))
	}
	return nil
}

// decode parses JSON with whole numbers as int64, as apimachinery wants them.
func decode(b []byte) (Object, error) {
	var v any
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, apierrors.NewBadRequest("couldn't get version/kind; json parse error: " + err.Error())
	}
	o, ok := numbers(v).(map[string]any)
	if !ok {
		return nil, apierrors.NewBadRequest("the request body is not an object")
	}
	return o, nil
}

func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = numbers(x)
		}
	case []any:
		for i, x := range v {
			v[i] = numbers(x)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return v
}
