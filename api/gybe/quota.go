package gybe

import (
	"context"
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Quotas gives each principal the quota of its project.
type Quotas func(p lcm.Principal) Quota

// Quota reads a quota.
type Quota interface {
	// Project is the name of the project.
	Project() string
	// QuotaUse returns what the project can have, and what it has.
	QuotaUse(ctx context.Context) (limit, used lcm.ProjectQuota, err error)
}

func (a *API) quotas(w http.ResponseWriter, r *frame.Request) error {
	q := a.Quotas(r.Principal)
	limit, used, err := q.QuotaUse(r.Context())
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, gybeapi.Quotas{
		Project:          q.Project(),
		Instances:        gybeapi.QuotaUse{Limit: limit.Instances, Used: used.Instances},
		ActiveOperations: gybeapi.QuotaUse{Limit: limit.Operations, Used: used.Operations},
		Packages:         gybeapi.QuotaUse{Limit: limit.Packages, Used: used.Packages},
		PackageBytes:     gybeapi.QuotaUse{Limit: limit.PackageBytes, Used: used.PackageBytes},
		Snapshots:        gybeapi.QuotaUse{Limit: limit.Snapshots, Used: used.Snapshots},
	})
}
