package openstack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/granting"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// classInput is what a class of the package is given (script.UserData). It has no VIM connection and no credentials of
// one. Values of additionalParams and nfv are as they are, because they go into the stack.
func (d *Driver) classInput(s *part, g desired) (map[string]any, error) {
	w := s.w
	req, err := requestOf(w)
	if err != nil {
		return nil, err
	}
	asked, err := granting.Request(w, d.cfg.PublicURL)
	if err != nil {
		return nil, err
	}
	asked.AdditionalParams, _ = req["additionalParams"].(map[string]any)
	inst, err := cmp.Or(w.Op.Before, w.Instance).Described()
	if err != nil {
		return nil, err
	}
	files, err := yamlOf(g.files)
	if err != nil {
		return nil, err
	}
	former, err := d.formerStack(s)
	if err != nil {
		return nil, err
	}
	var parameters map[string]any
	if former != nil {
		parameters = former.Parameters
	}
	return map[string]any{
		"request": req, "vnf_instance": inst, "grant_request": asked, "grant_response": granting.Document(w, asked),
		"stack_parameters": parameters, "vnfd_id": w.VNFD.ID, "yaml": files,
	}, nil
}

// requestOf is the request of an operation, with the additionalParams that the instance remembers.
func requestOf(w *lcm.Execution) (map[string]any, error) {
	req := map[string]any{}
	if len(w.Op.Params) > 0 {
		if err := json.Unmarshal(w.Op.Params, &req); err != nil {
			return nil, fmt.Errorf("decode the request: %w", err)
		}
	}
	delete(req, "vimConnectionInfo")
	remembered, err := w.Instance.Params.Decode()
	if err != nil {
		return nil, err
	}
	own, _ := req["additionalParams"].(map[string]any)
	req["additionalParams"] = lcm.MergePatch(map[string]any(remembered), own)
	return req, nil
}

// The limits of the YAML files that a class is given.
const (
	maxYAMLFile  = 2 << 20
	maxYAMLFiles = 500
)

// yamlOf reads the definitions and templates of a package. Files that are no YAML are left out: the class says whether
// it needs one.
func yamlOf(pkg fs.FS) (map[string]any, error) {
	out := map[string]any{}
	err := fs.WalkDir(pkg, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		top, _, below := strings.Cut(name, "/")
		if e.IsDir() {
			if name != "." && top != "Definitions" && top != "BaseHOT" {
				return fs.SkipDir
			}
			return nil
		}
		ext := path.Ext(name)
		if ext != ".yaml" && ext != ".yml" || below && top != "Definitions" && top != "BaseHOT" {
			return nil
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxYAMLFile {
			return err
		}
		if len(out) >= maxYAMLFiles {
			return lcm.Errorf(
				lcm.CodeUnprocessable, "the package has more than %d definitions and templates, too many for its class",
				maxYAMLFiles,
			)
		}
		text, err := fs.ReadFile(pkg, name)
		if err != nil {
			return err
		}
		if v, err := userdata.PlainYAML(text); err == nil {
			out[name] = v
		}
		return nil
	})
	return out, err
}
