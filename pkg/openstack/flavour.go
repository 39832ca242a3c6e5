package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
)

// changeFlavour brings a stack to another deployment flavour, and returns it. VNFCs of VDUs that both flavours have
// stay what they are as far as Heat can keep them: with the same type of resource, in their zone, with their addresses.
func (t *tick) changeFlavour(ctx context.Context) (stack.Desired, error) {
	if err := t.provideImages(ctx); err != nil {
		return nil, err
	}
	g, err := t.desiredAt(&t.part)
	if err != nil {
		return nil, err
	}
	return t.desired, t.resize(ctx, g, victims(t.w))
}

// restoreFlavour brings a stack back to the deployment flavour that it had, and returns it.
func (t *tick) restoreFlavour(ctx context.Context) (stack.Desired, error) {
	g, err := t.previousAt(&t.part)
	if err != nil {
		return nil, err
	}
	return t.built(g), t.restoreStack(ctx)
}
