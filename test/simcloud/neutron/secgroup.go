package neutron

import (
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// SecurityGroup is a security group; nothing is filtered by it.
type SecurityGroup struct {
	base
	Rules []Rule
}

// Rule is one rule of a security group.
type Rule struct {
	ID        string  `json:"id"`
	GroupID   string  `json:"security_group_id"`
	Direction string  `json:"direction"`
	EtherType string  `json:"ethertype"`
	Protocol  *string `json:"protocol"`
	PortMin   *int    `json:"port_range_min"`
	PortMax   *int    `json:"port_range_max"`
	RemoteIP  *string `json:"remote_ip_prefix"`
	RemoteGrp *string `json:"remote_group_id"`
}

// GroupSpec is the body of a security group create.
type GroupSpec struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
}

// DefaultGroup returns the project's group "default", which exists as soon as it is read.
func (s *Service) DefaultGroup(project string) *SecurityGroup {
	for _, g := range s.Groups.All() {
		if g.Project == project && g.Name == "default" {
			return g
		}
	}
	g := &SecurityGroup{base: s.newBase(project, "default")}
	g.Description = "Default security group"
	for _, ether := range []string{"IPv4", "IPv6"} {
		g.Rules = append(g.Rules,
			Rule{ID: sim.NewID(), GroupID: g.ID, Direction: "egress", EtherType: ether},
			Rule{ID: sim.NewID(), GroupID: g.ID, Direction: "ingress", EtherType: ether, RemoteGrp: &g.ID})
	}
	s.Groups.Add(g.ID, g)
	return g
}

// CreateGroup makes a security group that lets everything out.
func (s *Service) CreateGroup(c rest.Caller, spec GroupSpec) (*SecurityGroup, error) {
	s.DefaultGroup(c.ProjectID)
	if err := s.room(c.ProjectID, "security_group"); err != nil {
		return nil, err
	}
	if deref(spec.Name) == "default" {
		return nil, conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
	}
	g := &SecurityGroup{base: s.newBase(c.ProjectID, deref(spec.Name))}
	setIf(&g.Description, spec.Description)
	for _, ether := range []string{"IPv4", "IPv6"} {
		g.Rules = append(g.Rules, Rule{ID: sim.NewID(), GroupID: g.ID, Direction: "egress", EtherType: ether})
	}
	s.Groups.Add(g.ID, g)
	return g, nil
}

// Group finds a security group of the caller's project.
func (s *Service) Group(c rest.Caller, id string) (*SecurityGroup, error) {
	return own(&s.Groups, c, id, "SecurityGroupNotFound", "Security group %s does not exist")
}

// DeleteGroup deletes a group that no port uses.
func (s *Service) DeleteGroup(c rest.Caller, id string) error {
	g, err := s.Group(c, id)
	if err != nil {
		return err
	}
	if g.Name == "default" && !c.Admin {
		return conflict("SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
	}
	for _, p := range s.Ports.All() {
		if slices.Contains(p.SecurityGroups, id) {
			return conflict("SecurityGroupInUse", "Security Group %s in use.", id)
		}
	}
	s.Groups.Delete(id)
	return nil
}

// AddRule adds a rule to a group; the same rule twice is a conflict.
func (s *Service) AddRule(c rest.Caller, r Rule) (Rule, error) {
	g, err := s.Group(c, r.GroupID)
	if err != nil {
		return r, err
	}
	if r.Direction != "ingress" && r.Direction != "egress" {
		const format = "Invalid input for direction. Reason: '%s' is not in ['ingress', 'egress']."
		return r, badRequest("HTTPBadRequest", format, r.Direction)
	}
	if r.EtherType == "" {
		r.EtherType = "IPv4"
	}
	for _, o := range g.Rules {
		same := o.Direction == r.Direction && o.EtherType == r.EtherType && deref(o.Protocol) == deref(r.Protocol) &&
			deref(o.PortMin) == deref(r.PortMin) && deref(o.PortMax) == deref(r.PortMax) &&
			deref(o.RemoteIP) == deref(r.RemoteIP) && deref(o.RemoteGrp) == deref(r.RemoteGrp)
		if same {
			return r, conflict("SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.", o.ID)
		}
	}
	r.ID = sim.NewID()
	g.Rules = append(g.Rules, r)
	return r, nil
}

func (s *Service) groupView(g *SecurityGroup) rest.Obj {
	v := g.base.view()
	rules := make([]rest.Obj, 0, len(g.Rules))
	for _, r := range g.Rules {
		rules = append(rules, ruleView(g, r))
	}
	v["security_group_rules"], v["stateful"], v["shared"] = rules, true, false
	return v
}

func ruleView(g *SecurityGroup, r Rule) rest.Obj {
	return rest.Obj{
		"id": r.ID, "security_group_id": r.GroupID, "direction": r.Direction, "ethertype": r.EtherType,
		"protocol": r.Protocol, "port_range_min": r.PortMin, "port_range_max": r.PortMax,
		"remote_ip_prefix": r.RemoteIP, "remote_group_id": r.RemoteGrp, "project_id": g.Project, "tenant_id": g.Project,
		"description": "", "revision_number": 0,
	}
}
