package cloud

import "regexp"

// hints say what to do about the failures that users meet most, first match first. The texts are those of the services
// and of Heat, which passes theirs on.
var hints = []struct {
	match *regexp.Regexp
	hint  string
}{
	{regexp.MustCompile(`(?i)template size`), "the template is larger than the VIM's Heat accepts (max_template_size)"},
	{quotaText, "raise the project's quota in the VIM or free resources, then retry the operation"},
	{
		regexp.MustCompile(`(?i)no valid host|not enough hosts|anti-affinity|max scheduling attempts`),
		"no compute host can take the server: check free capacity, the size of the flavour, the zone, and whether " +
			"there are enough hosts for the anti-affinity rules; then retry",
	},
	{
		regexp.MustCompile(`(?i)flavor.{0,120}(could not|cannot|can't) be found|flavor .{0,80}not found|no flavor`),
		"create the flavour in the VIM, or name another one in additionalParams.nfv",
	},
	{
		regexp.MustCompile(`(?i)no images? unique match|multiple image matches`),
		"several images that the project sees have this name, perhaps one that a package has brought: delete or " +
			"rename the others, or give the id of one in additionalParams.nfv",
	},
	{
		regexp.MustCompile(`(?i)image.{0,120}(could not|cannot|can't) be found|image .{0,80}not found|no images? (matching|found)`),
		"upload the image to the VIM under the name that the VNFD has, or carry it in the package",
	},
	{
		regexp.MustCompile(`(?i)flavor'?s (disk|memory) is too small|smaller than (the )?(minimum|min_disk)|volume is (too small|smaller)|disk is smaller`),
		"the image needs more room than the flavour or the volume has: take a larger one",
	},
	{
		regexp.MustCompile(`(?i)not a valid external network|external network .{0,80}not reachable|not reachable from subnet`),
		"floating addresses come from an external network that a router connects with the port's subnet: check the " +
			"network that the template names, and the router",
	},
	{
		regexp.MustCompile(`(?i)unable to find port|port .{0,80}(could not|cannot|can't) be found`),
		"check the link ports (extLinkPorts, linkPortId) of extVirtualLinks: this port is not in the VIM",
	},
	{
		regexp.MustCompile(`(?i)(network|subnet).{0,120}(could not|cannot|can't) be found|unable to find (network|subnet)|error validating value.{0,80}network`),
		"check the network ids of extVirtualLinks and the network names in the package's templates",
	},
	{
		regexp.MustCompile(`(?i)port .{0,80}(still )?in use|port is in use`),
		"the port belongs to another server: detach it, or let the VIM make a new one",
	},
	{
		regexp.MustCompile(`(?i)mac address .{0,80}in use|macaddressinuse`),
		"another port of the network has this MAC address: free it, or give another one in extVirtualLinks",
	},
	{
		regexp.MustCompile(`(?i)ip address.{0,120}(in use|already allocated)|address.{0,80}already (in use|allocated)|ipaddressinuse|ipaddressalreadyallocated`),
		"another port has this address: free it, or give another fixed address in extVirtualLinks",
	},
	{
		regexp.MustCompile(`(?i)not a valid ip for|invalidipforsubnet|invalidipfornetwork`),
		"the fixed address is outside the network's subnets: correct it in extVirtualLinks",
	},
	{
		regexp.MustCompile(`(?i)no more ip addresses|ipaddressgenerationfailure|externalipaddressexhausted`),
		"the subnet has no free address: free some or extend its pool, then retry",
	},
	{
		regexp.MustCompile(`(?i)(availability zone|availability_zone).{0,120}(not|invalid)`),
		"the zone does not exist in the VIM: correct the grant's zones",
	},
	{
		regexp.MustCompile(`(?i)the key \(.{0,80}could not be found|invalid key_name`),
		"create the key pair in the VIM for the user of the connection, or name another one",
	},
	{
		regexp.MustCompile(`(?i)volume ?type.{0,80}(could not|cannot|can't) be found`),
		"create the volume type in the VIM, or name another one in the package's templates",
	},
	{
		regexp.MustCompile(`(?i)shrinking volume`),
		"Heat makes no volume smaller: mark the operation failed and heal the VNFC with additionalParams.all, which " +
			"creates its volume again, empty, or go to a package with a volume as large",
	},
	{
		regexp.MustCompile(`(?i)invalid volume|volume .{0,120}(status must be|in-use|in error)|went to status error.{0,40}volume|volume .{0,80}did not finish being created`),
		"the volume is not in a state for this: look at it in Cinder, detach it or reset its state, then retry",
	},
	{
		regexp.MustCompile(`(?i)failed to (detach|attach) interface|interfacedetachfailed|interfaceattachfailed`),
		"the compute service of the server's host does not change its interfaces: look at it, or heal the VNFC",
	},
	{
		regexp.MustCompile(`(?i)requires authentication|authorization failed|trust.{0,40}(not|cannot|could not) be found|\b401\b.{0,20}unauthorized`),
		"the VIM did not accept the credentials that Heat works with: check the user of the VIM connection and its " +
			"roles, and that its password has not changed, then retry",
	},
	{
		regexp.MustCompile(`(?i)messagingtimeout|messaging timeout|timed out waiting for a reply|service unavailable|bad gateway|connection (refused|reset|aborted)|unable to establish connection`),
		"a service of the VIM did not answer another one: look at the VIM, then retry the operation",
	},
	{
		regexp.MustCompile(`(?i)(create|update|delete|rollback) cancelled`),
		"the action was cancelled in the VIM: find out why, then retry the operation",
	},
	{
		regexp.MustCompile(`(?i)timed out|timeout`),
		"the VIM took longer than the stack's timeout: look at its services, raise openstack.stack_timeout if it is " +
			"slow, then retry",
	},
}

// Hint says what to do about a failure that a service describes with these words; "" when nothing is known.
func Hint(text string) string {
	for _, h := range hints {
		if h.match.MatchString(text) {
			return h.hint
		}
	}
	return ""
}
