package inventory

import (
	"cmp"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

func init() { lcm.RegisterKinds(resourceKinds) }

// resourceKinds has the kinds of Heat's resource types; every other type is lcm.KindOther.
var resourceKinds = map[string]lcm.Kind{
	cloud.TypeServer:          lcm.KindCompute,
	"OS::Zun::Container":      lcm.KindContainer,
	cloud.TypePort:            lcm.KindPort,
	cloud.TypeFloatingIP:      lcm.KindAddress,
	cloud.TypeNetwork:         lcm.KindNetwork,
	cloud.TypeSubnet:          lcm.KindNetwork,
	cloud.TypeRouter:          lcm.KindNetwork,
	cloud.TypeRouterInterface: lcm.KindNetwork,
	cloud.TypeRouterGateway:   lcm.KindNetwork,
	cloud.TypeVolume:          lcm.KindStorage,
	cloud.TypeImage:           lcm.KindImage,
	"OS::Glance::WebImage":    lcm.KindImage,
}

// kindOf returns the kind of a Heat resource type.
func kindOf(typ string) lcm.Kind { return cmp.Or(resourceKinds[typ], lcm.KindOther) }
