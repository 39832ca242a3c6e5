package openstack

import "context"

// changeFlavour brings the stack to another deployment flavour. VNFCs of VDUs that both flavours have stay what they are as far as Heat can keep
// them: with the same type of resource, in their zone, with their addresses.
func (t *tick) changeFlavour(ctx context.Context) error {
	if err := t.provideImages(ctx); err != nil {
		return err
	}
	g, err := t.desiredAt(&t.part)
	if err != nil {
		return err
	}
	return t.resize(ctx, g, victims(t.w))
}
