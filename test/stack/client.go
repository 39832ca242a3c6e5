package stack

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// Onboard uploads an archive and returns its vnfdId when it is ONBOARDED.
func Onboard(ctx context.Context, c *client.Client, archive string) (string, error) {
	p, err := c.CreatePackage(ctx, sol.CreateVnfPkgInfoRequest{})
	if err != nil {
		return "", err
	}
	f, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := c.UploadPackage(ctx, p.ID, f); err != nil {
		return "", err
	}
	for {
		if p, err = c.Package(ctx, p.ID); err != nil {
			return "", err
		}
		if p.OnboardingState == sol.PackageOnboardingStateOnboarded {
			return p.VnfdID, nil
		}
		if f := p.OnboardingFailureDetails; f != nil {
			return "", fmt.Errorf("package %s was refused: %s", archive, f.Detail)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// Await returns when all operations have ended, with the time each took; an error when one did not end COMPLETED.
func Await(ctx context.Context, c *client.Client, ops ...string) ([]time.Duration, error) {
	took := make([]time.Duration, len(ops))
	for i, id := range ops {
		for {
			op, err := c.Operation(ctx, id)
			if err != nil {
				return nil, err
			}
			if op.OperationState == sol.LcmOperationStateCompleted {
				took[i] = op.StateEnteredTime.Sub(op.StartTime)
				break
			}
			switch op.OperationState {
			case sol.LcmOperationStateFailedTemp, sol.LcmOperationStateFailed, sol.LcmOperationStateRolledBack:
				detail := ""
				if op.Error != nil {
					detail = op.Error.Detail
				}
				return nil, fmt.Errorf("operation %s is %s: %s", id, op.OperationState, detail)
			default:
			}
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return nil, err
			}
		}
	}
	return took, nil
}

// VimConnection is the vimConnectionInfo entry of the simulated cloud.
func VimConnection(sim simcloud.Info) sol.VimConnectionInfo {
	return sol.VimConnectionInfo{
		VimID: "d82ee798-a1d2-4854-8f74-4892ad706751", VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3",
		InterfaceInfo: sol.KeyValuePairs{"endpoint": sim.AuthURL},
		AccessInfo: sol.KeyValuePairs{
			"username": sim.Username, "password": sim.Password, "region": sim.Region,
			"project": sim.Project, "projectDomain": sim.ProjectDomain, "userDomain": sim.UserDomain,
		},
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
