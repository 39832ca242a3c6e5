package openstack

import "context"

// scale brings the stack to the number of VNFCs that the operation's scope says.
func (j *job) scale(ctx context.Context) error {
	return j.stackUpdated(ctx, j.stackName(), j.goalStack, nil)
}
