package openstack

import "context"

// changeFlavour brings the stack to another deployment flavour.
func (j *job) changeFlavour(ctx context.Context) error {
	return j.stackUpdated(ctx, j.stackName(), j.goalStack, nil)
}
