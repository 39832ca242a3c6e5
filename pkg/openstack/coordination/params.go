package coordination

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/script"
	"github.com/gybe-nfv/gybe/pkg/script/durable"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Params are the additionalParams of CHANGE_VNFPKG that say how it is done. They hold for one operation only.
type Params struct {
	// VDUs are those whose VNFCs are changed, in this order; nil means all, in the order of the VNFD.
	VDUs []VDUParams `json:"vdu_params"`
	// CoordinateNew and CoordinateOld name Python scripts of the packages that are run, where the operator wants it,
	// for each VNFC that has been changed, or changed back.
	CoordinateNew string `json:"lcm-operation-coordinate-new-vnf"`
	CoordinateOld string `json:"lcm-operation-coordinate-old-vnf"`
}

// VDUParams is an entry of vdu_params.
type VDUParams struct {
	VDU string `json:"vdu_id"`
	// New and Old are about a VNFC that has just been changed, or changed back.
	New *VNFCParams `json:"new_vnfc_param"`
	Old *VNFCParams `json:"old_vnfc_param"`
}

// VNFCParams says whom to ask when a VNFC has been changed, before the next one is. A script gets them as they are in
// the request, with members that are not here.
type VNFCParams struct {
	// CP is the connection point or floating address of the VNFC whose address takes the place of a host that Endpoint
	// lacks, and is given to a script.
	CP string `json:"cp_name"`
	// Endpoint is the coordination server's URL. Where it has no host, or {ip}, the address of CP is meant.
	Endpoint       string `json:"endpoint"`
	Authentication *Auth  `json:"authentication"`
	// Timeout bounds a coordination, in seconds; a number or its text.
	Timeout any `json:"timeout"`
	// Action is the coordinationActionName; default defaultAction.
	Action string `json:"coordinationActionName"`
	// Input is added to inputParams.
	Input sol.KeyValuePairs `json:"inputParams"`
	// Certificate is what the server's certificate is trusted by, beside the system's authorities (PEM).
	Certificate string `json:"trustedCertificate"`

	// script is the one that the request names for these parameters; "" for none.
	script string
}

// Coordinates says whether a server is asked or a script is run; nil means neither.
func (p *VNFCParams) Coordinates() bool { return p != nil && (p.Endpoint != "" || p.script != "") }

// Defaults of vnfcParams.
const (
	coordinationTimeout = time.Hour
	defaultAction       = "change_vnfpkg"
)

// ipPlaceholder stands in an endpoint for the address of the VNFC.
const ipPlaceholder = "{ip}"

// ParamsOf reads a request's parameters. The error points at what cannot be read.
func ParamsOf(raw json.RawMessage) (Params, error) {
	var req struct {
		AdditionalParams Params `json:"additionalParams"`
	}
	err := json.Unmarshal(raw, &req)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Params{}, lcm.Unprocessable(lcm.InvalidParam{
			Pointer: "/" + strings.ReplaceAll(wrong.Field, ".", "/"),
			Detail:  "a JSON " + wrong.Value + " cannot be used here",
		})
	}
	if err != nil {
		return Params{}, lcm.Errorf(lcm.CodeInvalid, "the request cannot be decoded: %w", err)
	}
	p := req.AdditionalParams
	for _, v := range p.VDUs {
		if v.New != nil {
			v.New.script = p.CoordinateNew
		}
		if v.Old != nil {
			v.Old.script = p.CoordinateOld
		}
	}
	return p, nil
}

// Targets lists the VDUs to change, in order.
func (p Params) Targets(f *vnfd.Flavour) []VDUParams {
	if p.VDUs != nil {
		return p.VDUs
	}
	var out []VDUParams
	for _, v := range f.VDUs {
		out = append(out, VDUParams{VDU: v.Name})
	}
	return out
}

// Targeted says whether a node, a VDU or a storage, is changed.
func (p Params) Targeted(f *vnfd.Flavour, node string) bool {
	return slices.ContainsFunc(p.Targets(f), func(t VDUParams) bool {
		v := f.VDU(t.VDU)
		return t.VDU == node || v != nil && slices.Contains(v.Storages, node)
	})
}

// coordinationScript is a script of a request: the member that names it, the one of vdu_params that it is given, and
// the package that has to have it.
type coordinationScript struct {
	member, param, script string
	pkg                   fs.FS
}

func (p Params) scripts(r lcm.Request) []coordinationScript {
	var former fs.FS
	if r.Previous != nil {
		former = r.Previous.Package
	}
	return []coordinationScript{
		{"lcm-operation-coordinate-new-vnf", "new_vnfc_param", p.CoordinateNew, r.Package},
		{"lcm-operation-coordinate-old-vnf", "old_vnfc_param", p.CoordinateOld, former},
	}
}

// Check finds what is wrong with the parameters; the domain has looked at the names of the VDUs. scripts runs the
// scripts; nil = they are not run.
func (p Params) Check(r lcm.Request, scripts durable.Runner) []lcm.InvalidParam {
	const at = "/additionalParams/"
	run := scripts != nil
	var bad []lcm.InvalidParam
	report := func(pointer, format string, args ...any) {
		bad = append(bad, lcm.InvalidParam{Pointer: at + pointer, Detail: fmt.Sprintf(format, args...)})
	}
	told := false
	for _, c := range p.scripts(r) {
		switch {
		case c.script == "":
		case run:
			if why := missingScript(scripts, c.pkg, c.script); why != "" {
				report(c.member, "%s", why)
			}
			if p.VDUs == nil && !told {
				told = true
				report(
					"vdu_params",
					"is missing: the script %s is run for each VNFC with the %s of its VDU, which has to have cp_name",
					c.script, c.param,
				)
			}
		case p.VDUs == nil:
			report(
				c.member,
				"the Python script is not run; give vdu_params with the endpoint of the coordination server instead, "+
					"or have the operator switch scripts on (scripts.python)",
			)
		}
	}
	seen := map[string]bool{}
	for i, v := range p.VDUs {
		where := fmt.Sprintf("vdu_params/%d/", i)
		if seen[v.VDU] {
			report(where+"vdu_id", "%s is listed twice", v.VDU)
		}
		seen[v.VDU] = true
		bad = append(bad, v.New.check(at+where+"new_vnfc_param", p.CoordinateNew, run)...)
		bad = append(bad, v.Old.check(at+where+"old_vnfc_param", p.CoordinateOld, run)...)
	}
	return bad
}

// missingScript says why a package cannot give a script; "" when it can.
func missingScript(scripts durable.Runner, pkg fs.FS, file string) string {
	name := path.Clean(file)
	if !fs.ValidPath(name) || name == "." {
		return file + " is not a path within the package"
	}
	if pkg == nil {
		return ""
	}
	if info, err := fs.Stat(pkg, name); err != nil || !info.Mode().IsRegular() {
		return "the package has no script " + name
	}
	if script.IsProgram(pkg, name) {
		if err := scripts.CanRun(pkg, name); err != nil {
			e := lcm.AsError(err)
			return strings.TrimSuffix(e.Detail+"; "+e.Hint, "; ")
		}
	}
	return ""
}

// check finds what is wrong with the parameters at pointer; script is the one that the request names for them.
func (p *VNFCParams) check(pointer, script string, run bool) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	report := func(member, format string, args ...any) {
		bad = append(bad, lcm.InvalidParam{Pointer: pointer + member, Detail: fmt.Sprintf(format, args...)})
	}
	if script != "" && run {
		if p == nil {
			report("", "is missing: the script %s needs it, with cp_name", script)
			return bad
		}
		if p.CP == "" {
			report("/cp_name", "is missing: the script %s receives the address of the VNFC", script)
		}
		if _, err := p.timeout(); err != nil {
			report("/timeout", "%v", err)
		}
		return bad // the rest is the script's to judge
	}
	if p == nil || p.Endpoint == "" {
		if script != "" {
			report(
				"/endpoint",
				"is missing: the Python script %s is not run; the coordination server that it would ask is asked "+
					"directly (SOL002 clause 10), or the operator switches scripts on (scripts.python)",
				script,
			)
		}
		return bad
	}
	if u, err := url.Parse(strings.ReplaceAll(p.Endpoint, ipPlaceholder, "192.0.2.1")); err != nil ||
		u.Scheme != "http" && u.Scheme != "https" {
		report("/endpoint", "is not an http or https URL")
	} else if p.needsAddress() && p.CP == "" {
		report("/cp_name", "is missing: the endpoint needs the address of the VNFC")
	}
	if _, err := p.timeout(); err != nil {
		report("/timeout", "%v", err)
	}
	if p.Authentication != nil {
		bad = append(bad, p.Authentication.Check(pointer+"/authentication")...)
	}
	if p.Certificate != "" && !cloud.ValidPEM([]byte(p.Certificate)) {
		report("/trustedCertificate", "is not a certificate in PEM form")
	}
	return bad
}

// needsAddress says whether the endpoint lacks a host.
func (p *VNFCParams) needsAddress() bool {
	if strings.Contains(p.Endpoint, ipPlaceholder) {
		return true
	}
	u, err := url.Parse(p.Endpoint)
	return err == nil && u.Hostname() == ""
}

// timeout is how long a coordination may take.
func (p *VNFCParams) timeout() (time.Duration, error) {
	seconds, ok := p.Timeout.(float64)
	if s, text := p.Timeout.(string); text {
		n, err := strconv.ParseFloat(s, 64)
		seconds, ok = n, err == nil
	}
	switch {
	case p.Timeout == nil:
		return coordinationTimeout, nil
	case !ok || seconds < 1 || seconds > (7*24*time.Hour).Seconds():
		return 0, errors.New("has to be a number of seconds, 1 to 604800")
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
