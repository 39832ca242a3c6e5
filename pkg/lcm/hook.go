package lcm

import (
	"context"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Hook is a point of an operation at which a mgmt driver runs. Its value is the name of the operation in the interface
// Vnflcm of a VNFD (SOL001). Hooks of a rollback are an extension: they run around the rollback of an operation.
type Hook string

// The hooks of the operations that a VNFD can name.
const (
	HookInstantiateStart              Hook = "instantiate_start"
	HookInstantiateEnd                Hook = "instantiate_end"
	HookInstantiateRollbackStart      Hook = "instantiate_rollback_start"
	HookInstantiateRollbackEnd        Hook = "instantiate_rollback_end"
	HookScaleStart                    Hook = "scale_start"
	HookScaleEnd                      Hook = "scale_end"
	HookScaleRollbackStart            Hook = "scale_rollback_start"
	HookScaleRollbackEnd              Hook = "scale_rollback_end"
	HookScaleToLevelStart             Hook = "scale_to_level_start"
	HookScaleToLevelEnd               Hook = "scale_to_level_end"
	HookScaleToLevelRollbackStart     Hook = "scale_to_level_rollback_start"
	HookScaleToLevelRollbackEnd       Hook = "scale_to_level_rollback_end"
	HookChangeFlavourStart            Hook = "change_flavour_start"
	HookChangeFlavourEnd              Hook = "change_flavour_end"
	HookChangeFlavourRollbackStart    Hook = "change_flavour_rollback_start"
	HookChangeFlavourRollbackEnd      Hook = "change_flavour_rollback_end"
	HookHealStart                     Hook = "heal_start"
	HookHealEnd                       Hook = "heal_end"
	HookHealRollbackStart             Hook = "heal_rollback_start"
	HookHealRollbackEnd               Hook = "heal_rollback_end"
	HookOperateStart                  Hook = "operate_start"
	HookOperateEnd                    Hook = "operate_end"
	HookOperateRollbackStart          Hook = "operate_rollback_start"
	HookOperateRollbackEnd            Hook = "operate_rollback_end"
	HookChangeExtConnStart            Hook = "change_external_connectivity_start"
	HookChangeExtConnEnd              Hook = "change_external_connectivity_end"
	HookChangeExtConnRollbackStart    Hook = "change_external_connectivity_rollback_start"
	HookChangeExtConnRollbackEnd      Hook = "change_external_connectivity_rollback_end"
	HookChangeVnfpkgStart             Hook = "change_current_package_start"
	HookChangeVnfpkgEnd               Hook = "change_current_package_end"
	HookChangeVnfpkgRollbackStart     Hook = "change_current_package_rollback_start"
	HookChangeVnfpkgRollbackEnd       Hook = "change_current_package_rollback_end"
	HookModifyInfoStart               Hook = "modify_information_start"
	HookModifyInfoEnd                 Hook = "modify_information_end"
	HookModifyInfoRollbackStart       Hook = "modify_information_rollback_start"
	HookModifyInfoRollbackEnd         Hook = "modify_information_rollback_end"
	HookCreateSnapshotStart           Hook = "create_snapshot_start"
	HookCreateSnapshotEnd             Hook = "create_snapshot_end"
	HookCreateSnapshotRollbackStart   Hook = "create_snapshot_rollback_start"
	HookCreateSnapshotRollbackEnd     Hook = "create_snapshot_rollback_end"
	HookRevertToSnapshotStart         Hook = "revert_to_snapshot_start"
	HookRevertToSnapshotEnd           Hook = "revert_to_snapshot_end"
	HookRevertToSnapshotRollbackStart Hook = "revert_to_snapshot_rollback_start"
	HookRevertToSnapshotRollbackEnd   Hook = "revert_to_snapshot_rollback_end"
	HookTerminateStart                Hook = "terminate_start"
	HookTerminateEnd                  Hook = "terminate_end"
	HookTerminateRollbackStart        Hook = "terminate_rollback_start"
	HookTerminateRollbackEnd          Hook = "terminate_rollback_end"
)

// KeyIgnoreMgmtDrivers is the key of a package's userDefinedData that names mgmt drivers of the VNFD to ignore if they
// do not exist here: a list of names, or a text with commas between them. It is read when the package is onboarded.
const KeyIgnoreMgmtDrivers = "gybe.ignoreMgmtDrivers"

// MgmtDriver does the work before or after a lifecycle operation that the VIM cannot do.
type MgmtDriver interface {
	// Validate checks the request's parameters for all hooks of the operation; it is pure and quick. It returns a
	// CodeUnprocessable error with a pointer (below /additionalParams) for everything that is wrong, or CodeConflict
	// when the state of the instance does not allow the operation. A change of the flavour or of the package is shown
	// to every driver of the present one, whether it has a hook there or not.
	Validate(ctx context.Context, r Request) error
	// Hooks lists the hooks that the driver handles. It always returns the same list.
	Hooks() []HookHandler
}

// HookHandler is how a mgmt driver handles one hook. Only Hook is required.
type HookHandler struct {
	Hook Hook
	// Run is a tick of the hook; same contract as Phase.Run. A hook without it is accepted in a VNFD, and does nothing.
	Run func(ctx context.Context, w *Execution) error
	// Protects says that operations would spoil the driver's work without the hook. Once a VNFD names the driver at any
	// hook, the driver is also called at this one, unless the VNFD names another driver here: packages for other VNFMs
	// do not name all operations.
	Protects bool
	// Installs says that the hook installs the machines that the operation recreates, which must have nothing on their
	// disks but what the package brings: the disk of a snapshot would start as what the machine was then.
	Installs bool
	// Preview describes what the hook of a valid request would do, one line for each effect. It does not contact the
	// VIM or a node.
	Preview func(r Request) []string
	// NewKey creates the key pair by which the hook logs in to machines, for a valid INSTANTIATE request; nil when the
	// request says how to log in.
	NewKey func(r Request) (*SSHKey, error)
}

// MgmtDrivers finds a mgmt driver for an LCM interface implementation.
type MgmtDrivers interface {
	Driver(impl vnfd.Implementation) (MgmtDriver, error)
}

// FindHook finds the implementation that is called at a hook.
func FindHook(drivers MgmtDrivers, f *vnfd.Flavour, hook Hook) (vnfd.Implementation, bool) {
	if impl, ok := f.LCM[string(hook)]; ok {
		return impl, true
	}
	for _, other := range slices.Sorted(maps.Keys(f.LCM)) {
		d, err := drivers.Driver(f.LCM[other])
		if err != nil {
			continue // reported where it is called
		}
		if h, ok := handlerAt(d, hook); ok && h.Protects {
			return f.LCM[other], true
		}
	}
	return vnfd.Implementation{}, false
}

// FindHandler finds the mgmt driver of an implementation and how it handles a hook. It returns CodeUnprocessable when
// the driver does not exist, or does not handle the hook.
func FindHandler(drivers MgmtDrivers, impl vnfd.Implementation, hook Hook) (MgmtDriver, HookHandler, error) {
	d, err := drivers.Driver(impl)
	if err != nil {
		return nil, HookHandler{}, err
	}
	h, ok := handlerAt(d, hook)
	if !ok {
		err := Errorf(CodeUnprocessable, "the mgmt driver %s does nothing at %s yet", impl.Name, hook)
		return nil, HookHandler{}, err
	}
	return d, h, nil
}

func handlerAt(d MgmtDriver, hook Hook) (HookHandler, bool) {
	hooks := d.Hooks()
	at := slices.IndexFunc(hooks, func(h HookHandler) bool { return h.Hook == hook })
	if at < 0 {
		return HookHandler{}, false
	}
	return hooks[at], true
}
