package conformance_test

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// snapshots are more than a page of VNF snapshots, of which one has data.
func (n *node) snapshots(ctx context.Context) (values, error) {
	return n.once("snapshots", func() (values, error) {
		ctx := context.WithoutCancel(ctx)
		v, err := n.instantiatedWithVolumes(ctx)
		if err != nil {
			return nil, err
		}
		for range pageSize + 1 {
			s, err := n.api.CreateSnapshot(ctx)
			if err != nil {
				return nil, err
			}
			v["snapshot"] = s.ID
		}
		op, err := n.api.Start(ctx, v["instance"], sol.LcmOperationCreateSnapshot, sol.CreateVnfSnapshotRequest{
			VnfSnapshotInfoID: v["snapshot"], UserDefinedData: sol.KeyValuePairs{"key": "value"},
		})
		if err != nil {
			return nil, err
		}
		v["operation"] = op
		return v, n.reaches(ctx, op, sol.LcmOperationStateCompleted)
	})
}
