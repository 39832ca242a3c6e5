package ansible

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// BadConfig is the code of the warnings of packages about their configuration.
const BadConfig = "ansible_config"

// exampleAddress stands for the address of a VNFC before there is one (RFC 5737).
const exampleAddress = "192.0.2.1"

// at names the place of a finding.
func (f finding) at(file string) string {
	if f.line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, f.line)
}

// examples are the machines of a flavour before there is an instance.
func examples(f *vnfd.Flavour) []machine {
	var out []machine
	for _, v := range f.VDUs {
		out = append(out, machine{vnfc: v.Name, vdu: v.Name, address: exampleAddress})
	}
	return out
}

// exampleVNF are the variables about a heal.
var exampleVNF = map[string]string{
	"mgmt_ip_address": "{}", "failed_vdu_name": "", "failed_vdu_instance_ip": "", "vduname": "",
}

// check resolves everything that some actions would run in a flavour, with examples in place of addresses. It reports
// whether playbooks are among them.
func check(r *resolver, f *vnfd.Flavour, run []string) (playbooks bool) {
	all := examples(f)
	r.scope.vnf = exampleVNF
	base := r.scope
	for _, v := range r.c.vdus {
		if f.VDU(v.name) == nil {
			continue
		}
		own := machine{vnfc: v.name, vdu: v.name, address: exampleAddress}
		r.scope = base.of(v.name, exampleAddress)
		for _, action := range run {
			for n, i := range v.actions[action] {
				if n == 0 {
					r.settings(v)
				}
				if v.kind == typeCommand {
					r.text(i.command)
					r.host(i, v, own, all)
					continue
				}
				playbooks = true
				r.credentials(v.login)
				r.playbook(i.path)
				r.params(i)
				r.targets(i, own, all)
			}
		}
	}
	r.scope = base
	return playbooks
}

// Validate implements lcm.MgmtDriver: the configuration is right, its files are there, its variables have values, and
// this node runs playbooks if the operation needs one.
func (d *Driver) Validate(_ context.Context, r lcm.Request) error {
	run := actionsOf(r.Type)
	if r.Package == nil || r.Flavour == nil || len(run) == 0 {
		return nil
	}
	c, bad := load(r.Package)
	if c == nil {
		return refused("", bad)
	}
	if len(bad) > 0 {
		return refused(c.file, bad)
	}
	res := &resolver{c: c, files: r.Package, scope: newScope(c, r.AdditionalParams)}
	playbooks := check(res, r.Flavour, run)
	if len(res.bad) > 0 {
		return refused(c.file, res.bad)
	}
	if playbooks {
		return d.canPlay()
	}
	return nil
}

// canPlay says with a CodeUnprocessable error why this node runs no playbooks.
func (d *Driver) canPlay() error {
	if d.o.CanPlay == nil || d.o.Host.Scripts == nil {
		return lcm.Errorf(
			lcm.CodeUnprocessable, "the operation runs Ansible playbooks of the package, and this node runs none",
		).WithHint("have the operator switch playbooks on, on every node: ansible.playbook, which needs scripts.python")
	}
	return d.o.CanPlay()
}

// refused is the error about a configuration. Variables that a request could have given are its parameters.
func refused(file string, bad []finding) error {
	bad = compact(bad)
	var details []string
	var params []lcm.InvalidParam
	for _, f := range bad {
		text := f.at(cmp.Or(file, folder)) + ": " + f.text
		details = append(details, text)
		if f.variable != "" && !strings.Contains(f.variable, ".") {
			pointer := "/additionalParams/" + lcm.Escape(f.variable)
			params = append(params, lcm.InvalidParam{Pointer: pointer, Detail: text})
		}
	}
	hint := "correct the file and upload the package again"
	if len(params) == len(bad) {
		hint = "give the values in additionalParams of the request, or in configurable_properties of the file"
	}
	return &lcm.Error{
		Code: lcm.CodeUnprocessable, Title: "Invalid Ansible configuration", Detail: strings.Join(details, "; "),
		Params: params, Hint: hint,
	}
}

// compact removes findings that are said twice, and all but the first ones.
func compact(bad []finding) []finding {
	const most = 20
	slices.SortStableFunc(bad, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.line, b.line), strings.Compare(a.text, b.text))
	})
	bad = slices.Compact(bad)
	return bad[:min(len(bad), most)]
}

// CheckPackage says what is wrong with the configuration of a package, as far as it is known before a request: warnings
// for the operations that would be refused, and for parts that have no effect here. It implements
// vnfpkg.PackageChecker.
func (d *Driver) CheckPackage(files fs.FS, model *vnfd.VNFD) []vnfd.Warning {
	c, bad := load(files)
	file := folder
	if c != nil {
		file = c.file
		for i := range model.Flavours {
			res := &resolver{c: c, files: files, scope: newScope(c, nil)}
			check(res, &model.Flavours[i], actions)
			for _, f := range res.bad {
				// A request may give the value.
				if f.variable == "" || strings.Contains(f.variable, ".") {
					bad = append(bad, f)
				}
			}
		}
	}
	var out []vnfd.Warning
	for _, f := range compact(bad) {
		out = append(out, vnfd.Warning{
			Code: BadConfig, Subject: Name, Location: file, Text: f.at(file) + ": " + f.text,
			Remedy:     "correct the file and upload the package again",
			Operations: []string{"INSTANTIATE", "SCALE", "SCALE_TO_LEVEL", "HEAL", "TERMINATE"},
		})
	}
	if c != nil {
		out = append(out, without(c, model)...)
	}
	return out
}

// without warns about parts that have no effect.
func without(c *config, model *vnfd.VNFD) []vnfd.Warning {
	var out []vnfd.Warning
	add := func(line int, text string) {
		out = append(out, vnfd.Warning{
			Code: BadConfig, Subject: Name, Location: c.file, Text: finding{line: line}.at(c.file) + ": " + text,
		})
	}
	for _, v := range c.vdus {
		if !slices.ContainsFunc(model.Flavours, func(f vnfd.Flavour) bool { return f.VDU(v.name) != nil }) {
			add(v.line, "no deployment flavour has the VDU "+v.name)
		}
		hosts := v.kind == typePlaybook && v.host != nil
		for _, action := range actions {
			for _, i := range v.actions[action] {
				if i.version.value != "" {
					add(i.version.line,
						"ansible_version has no effect: playbooks run with the ansible-playbook of the node")
				}
				hosts = hosts || v.kind == typePlaybook && i.host != nil
			}
		}
		if hosts {
			add(v.line, "execute-host has no effect on playbooks, which run on the node")
		}
	}
	return out[:min(len(out), 20)]
}
