package hot

import "strconv"

// Policy is an OS::Heat::ScalingPolicy: a signal to it makes its group larger or smaller.
type Policy struct {
	Name  string
	Group string // name of the AutoScalingGroup
	// Adjustment is how many members a signal adds; negative, how many it takes away.
	Adjustment int
	// Cooldown says that signals are ignored for a while after one that was obeyed.
	Cooldown bool
}

// Policy finds the policy by which the group of a VDU is scaled by so many members: out where it is positive, else in.
// Of several it is the one that needs the fewest signals. nil when there is none, and for a group whose size the
// template takes from a parameter: such a group is scaled by the parameter.
func (b *Bundle) Policy(vdu string, by int) *Policy {
	g := b.Group(b.Template, vdu)
	if g == nil {
		return nil
	}
	if size := field(g.props, g.sizeName); size != nil && number(size) < 0 {
		return nil
	}
	var best *Policy
	for name, r := range pairs(field(b.Template.root, "resources")) {
		props := field(r, "properties")
		in := function(field(props, "auto_scaling_group_id"), "get_resource")
		if text(field(r, "type")) != "OS::Heat::ScalingPolicy" || text(in) != g.Name ||
			text(field(props, "adjustment_type")) != "change_in_capacity" {
			continue
		}
		step, err := strconv.Atoi(text(field(props, "scaling_adjustment")))
		if err != nil || step*by <= 0 {
			continue
		}
		p := Policy{Name: name.Value, Group: g.Name, Adjustment: step, Cooldown: text(field(props,
			"cooldown")) != "0" && field(props, "cooldown") != nil}
		if best == nil || by%step == 0 && (by%best.Adjustment != 0 || by/step < by/best.Adjustment) {
			best = &p
		}
	}
	return best
}
