package lcm

import (
	"context"
	"encoding/json"
	"io/fs"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Request is what a driver may look at to say no before anything is created.
type Request struct {
	Type     sol.LcmOperationType
	Instance *Instance
	VNFD     *vnfd.VNFD
	Flavour  *vnfd.Flavour
	Package  fs.FS
	// Params is the request body; AdditionalParams its additionalParams, decoded.
	Params           json.RawMessage
	AdditionalParams sol.KeyValuePairs
}

// Infra drives one kind of VIM. All methods except Validate are ticks of a phase: they observe, then
// act, return nil when the goal is reached, Wait while it is not, and keep what they must not do
// twice in steps.
type Infra interface {
	// Validate checks the request against the package without asking the VIM; it returns a
	// CodeUnprocessable error with a pointer for everything that is wrong.
	Validate(ctx context.Context, r Request) error
	// Instantiate makes all VIM resources of the instance. It MUST adopt what a dead predecessor
	// made, and MUST NOT do anything that can fail between creating the primary resource and
	// recording its id.
	Instantiate(ctx context.Context, w *Work) error
	// Inventory reads what is there and sets Instance.Instantiated, Instance.Inventory and Op.ResourceChanges.
	Inventory(ctx context.Context, w *Work) error
	// Terminate deletes everything that belongs to the instance and returns nil only when it is gone.
	Terminate(ctx context.Context, w *Work) error
}

// Infras finds the Infra for a vimType such as ETSINFV.OPENSTACK_KEYSTONE.V_3.
type Infras interface {
	Infra(vimType string) (Infra, bool)
}

// MgmtDriver does the work before or after a lifecycle operation that the VIM cannot do.
type MgmtDriver interface {
	// Validate checks the request's parameters for all hooks of the operation; it is pure and quick and
	// returns a CodeUnprocessable error with a pointer (below /additionalParams) for everything that is wrong.
	Validate(ctx context.Context, r Request) error
	// Run is a tick of the hook, e.g. "instantiate_end"; same contract as Phase.Run.
	Run(ctx context.Context, hook string, w *Work) error
}

// MgmtDrivers finds a mgmt driver for an LCM interface implementation.
type MgmtDrivers interface {
	Driver(impl vnfd.Implementation) (MgmtDriver, error)
}

// Grantor asks for, or decides on, the grant of an operation (SOL003 clause 9).
type Grantor interface {
	// Grant is a tick: it returns the grant, Wait while it is pending, or an error when it is refused.
	Grant(ctx context.Context, w *Work) (*Grant, error)
}

// Packages gives the domain the VNF packages that are onboarded.
type Packages interface {
	// Model returns the VNFD and package id of the ONBOARDED package with this vnfdId: a
	// CodeUnprocessable error when there is none or it is not ENABLED. It never parses YAML.
	Model(ctx context.Context, vnfdID string) (*vnfd.VNFD, string, error)
	// ModelOf returns the VNFD of the package of an existing instance, also when it is DISABLED meanwhile: that
	// forbids new instances, not the work on old ones.
	ModelOf(ctx context.Context, vnfPkgID string) (*vnfd.VNFD, error)
	// Files returns the content of a package, rooted at the archive's root.
	Files(ctx context.Context, vnfPkgID string) (fs.FS, error)
}
