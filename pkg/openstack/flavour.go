package openstack

import "context"

// changeFlavour brings the stack to another deployment flavour. VNFCs of VDUs that both flavours have stay what they are as far as Heat can keep
// them: with the same type of resource, in their zone, with their addresses.
func (j *job) changeFlavour(ctx context.Context) error {
	if err := j.provideImages(ctx); err != nil {
		return err
	}
	g, err := j.desiredOf(j.w)
	if err != nil {
		return err
	}
	return j.resize(ctx, g, victims(j.w))
}
