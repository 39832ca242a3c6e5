package cloud

// Resource types of Heat that Gybe knows, and names in the same form for objects that Heat has no type for.
const (
	TypeServer            = "OS::Nova::Server"
	TypeServerGroup       = "OS::Nova::ServerGroup"
	TypeKeyPair           = "OS::Nova::KeyPair"
	TypePort              = "OS::Neutron::Port"
	TypeFloatingIP        = "OS::Neutron::FloatingIP"
	TypeNetwork           = "OS::Neutron::Net"
	TypeSubnet            = "OS::Neutron::Subnet"
	TypeRouter            = "OS::Neutron::Router"
	TypeRouterInterface   = "OS::Neutron::RouterInterface"
	TypeRouterGateway     = "OS::Neutron::RouterGateway"
	TypeSecurityGroup     = "OS::Neutron::SecurityGroup"
	TypeSecurityGroupRule = "OS::Neutron::SecurityGroupRule"
	TypeVolume            = "OS::Cinder::Volume"
	TypeVolumeAttachment  = "OS::Cinder::VolumeAttachment"
	TypeSnapshot          = "OS::Cinder::Snapshot"
	TypeImage             = "OS::Glance::Image"
	TypeStack             = "OS::Heat::Stack"
	TypeScalingGroup      = "OS::Heat::AutoScalingGroup"
	TypeResourceGroup     = "OS::Heat::ResourceGroup"
	TypeRandomString      = "OS::Heat::RandomString"
)
