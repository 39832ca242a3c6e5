package store

import (
	"encoding/json"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/render"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// instances describes vnf_instance. The order of the columns is that of the parts of the fingerprint: new columns go to
// the end and are optional.
var instances = table[lcm.Instance]{
	name: "vnf_instance", alias: "i", id: func(i *lcm.Instance) string { return i.ID },
	valid: "rendered_version = i.version + 1", hashed: true,
	columns: []column[lcm.Instance]{
		text("id", func(i *lcm.Instance) *string { return &i.ID }, fixed, unhashed),
		scalar("version", func(i *lcm.Instance) *int64 { return &i.Version }, fixed, unhashed),
		instant("created", func(i *lcm.Instance) *time.Time { return &i.Created }, fixed),
		instant("updated", func(i *lcm.Instance) *time.Time { return &i.Updated }, fixed),
		text("name", func(i *lcm.Instance) *string { return &i.Name }),
		text("description", func(i *lcm.Instance) *string { return &i.Description }),
		text("vnfd_id", func(i *lcm.Instance) *string { return &i.VnfdID }),
		text("vnf_pkg_id", func(i *lcm.Instance) *string { return &i.VnfPkgID }),
		text("provider", func(i *lcm.Instance) *string { return &i.Provider }),
		text("product_name", func(i *lcm.Instance) *string { return &i.ProductName }),
		text("software_version", func(i *lcm.Instance) *string { return &i.SoftwareVersion }),
		text("vnfd_version", func(i *lcm.Instance) *string { return &i.VnfdVersion }),
		text("state", func(i *lcm.Instance) *sol.InstantiationState { return &i.State }),
		scalar("holds_resources", func(i *lcm.Instance) *bool { return &i.HoldsResources }),
		sealedDocument(
			"vim_connections", func(i *lcm.Instance) *map[string]sol.VimConnectionInfo { return &i.VimConnections },
		),
		plainPairs("configurable_properties", func(i *lcm.Instance) *sol.RawPairs { return &i.ConfigurableProperties }),
		plainPairs("metadata", func(i *lcm.Instance) *sol.RawPairs { return &i.Metadata }),
		plainPairs("extensions", func(i *lcm.Instance) *sol.RawPairs { return &i.Extensions }),
		document("instantiated", func(i *lcm.Instance) **sol.InstantiatedVnfInfo { return &i.Instantiated }, large),
		document("inventory", func(i *lcm.Instance) *[]lcm.Resource { return &i.Inventory }, large),
		sealedRaw("params", func(i *lcm.Instance) *sol.RawPairs { return &i.Params }),
		sealedDocument(
			"former_vims", func(i *lcm.Instance) *map[string]sol.VimConnectionInfo { return &i.PreviousVims },
		),
		sealedDocument("ssh_key", func(i *lcm.Instance) **lcm.SSHKey { return &i.SSHKey }, optional),
		maybeText("unobserved", func(i *lcm.Instance) *string { return &i.Unobserved }, optional),
		document("secret_names", func(i *lcm.Instance) *[]string { return &i.SecretNames }, large, optional),
		document(
			"protection", func(i *lcm.Instance) **lcm.Protection { return &i.Protection }, fixed, optional, unhashed,
		),
		document("vim_assets", func(i *lcm.Instance) **lcm.VimAssets { return &i.Assets }, large, optional),
		sealedDocument("assembled", func(i *lcm.Instance) **lcm.AssembledStack { return &i.Assembled }, optional),
		maybeText("primary_resource", func(i *lcm.Instance) *string { return &i.PrimaryResource }, optional),
		attributes, // after the plain columns
		renderedJSON("rendered_brief", render.InstanceBrief),
		renderedJSON("rendered_details", render.InstanceDetails, sealed),
		renderedText("rendered_flavour", render.Flavour),
		renderedVersion(func(i *lcm.Instance) int64 { return i.Version }),
		renderedFormat[lcm.Instance](),
		renderedJSON("rendered_params", render.InstanceParams, sealed),
		fingerprint,
	},
}

// fingerprint is the keyed hash of the other columns, by which a tick knows that the instance has not changed.
var fingerprint = bytesColumn("fingerprint", derived|unhashed|claimOnly,
	func(i *lcm.Instance) ([]byte, error) { return i.Fingerprint, nil },
	func(i *lcm.Instance, raw []byte) error {
		i.Fingerprint = raw
		return nil
	})

var (
	instanceColumns = instances.selected(claimOnly)
	// instanceBrief leaves out what is large or sealed (lcm.Query.Brief).
	instanceBrief = instances.selected(large, claimOnly)
	// instanceClaimed is what a node needs to work on the instance.
	instanceClaimed = instances.selected()
)

// operations describes vnf_lcm_op_occ. job_id is not part of it: only the engine reads it.
var operations = table[lcm.Operation]{
	name: "vnf_lcm_op_occ", alias: "o", id: func(o *lcm.Operation) string { return o.ID },
	// Not all rendered columns are written again, so a row that was not valid stays so.
	valid: "rendered_version = CASE WHEN o.rendered_format = " + format + " THEN o.rendered_version + 1 END",
	columns: []column[lcm.Operation]{
		text("id", func(o *lcm.Operation) *string { return &o.ID }, fixed),
		text("instance_id", func(o *lcm.Operation) *string { return &o.InstanceID }, fixed),
		text("type", func(o *lcm.Operation) *sol.LcmOperationType { return &o.Type }, fixed),
		text("state", func(o *lcm.Operation) *sol.LcmOperationStateType { return &o.State }),
		instant("state_entered", func(o *lcm.Operation) *time.Time { return &o.StateEntered }),
		instant("started", func(o *lcm.Operation) *time.Time { return &o.Started }, fixed),
		instant("updated", func(o *lcm.Operation) *time.Time { return &o.Updated }, fixed),
		scalar("version", func(o *lcm.Operation) *int64 { return &o.Version }, fixed),
		scalar("automatic", func(o *lcm.Operation) *bool { return &o.Automatic }),
		sealedRaw("params", func(o *lcm.Operation) *json.RawMessage { return &o.Params }, fixed),
		text("phase", func(o *lcm.Operation) *string { return &o.Phase }),
		scalar("run", func(o *lcm.Operation) *int { return &o.Run }),
		text("failed_in", func(o *lcm.Operation) *sol.LcmOperationStateType { return &o.FailedIn }),
		scalar("epoch", func(o *lcm.Operation) *int64 { return &o.Epoch }, fixed),
		text("node", func(o *lcm.Operation) *string { return &o.Node }, fixed),
		text("waiting", func(o *lcm.Operation) *string { return &o.Waiting }),
		instant("deadline", func(o *lcm.Operation) *time.Time { return &o.Deadline }),
		document("granted", func(o *lcm.Operation) **lcm.Grant { return &o.Grant }),
		maybeText("grant_href", func(o *lcm.Operation) *string { return &o.GrantHref }),
		sealedDocument("grant_params", func(o *lcm.Operation) *sol.KeyValuePairs { return &o.GrantParams }),
		document("error", func(o *lcm.Operation) **lcm.Failure { return &o.Error }),
		document("resource_changes", func(o *lcm.Operation) **sol.ResourceChanges { return &o.ResourceChanges }, large),
		sealedDocument("changed_info", func(o *lcm.Operation) **sol.VnfInfoModifications { return &o.ChangedInfo }),
		scalar("tries", func(o *lcm.Operation) *int { return &o.Try }),
		text("cancel", func(o *lcm.Operation) *sol.CancelModeType { return &o.Cancel }),
		document("scope", func(o *lcm.Operation) **lcm.Scope { return &o.Scope }, fixed),
		sealedDocument("before", func(o *lcm.Operation) **lcm.Instance { return &o.Before }, fixed, claimOnly),
		document("changed_ext_connectivity", func(o *lcm.Operation) *[]sol.ExtVirtualLinkInfo {
			return &o.ChangedExtConnectivity
		}, large),
		sealedDocument("modifications", func(o *lcm.Operation) **sol.ModificationsTriggeredByVnfPkgChange {
			return &o.Modifications
		}),
		document("secret_names", func(o *lcm.Operation) *[]string { return &o.SecretNames }, fixed, large),
		document("actions", func(o *lcm.Operation) *[]lcm.Action { return &o.Actions }, fixed, large),
		maybeText("new_pkg_id", func(o *lcm.Operation) *string { return &o.VnfPkgID }, fixed),
		oldPackage,
		sealedRaw("script_data", func(o *lcm.Operation) *json.RawMessage { return &o.ScriptData }, claimOnly),
		text("vim_key", func(o *lcm.Operation) *string { return &o.VimKey }, claimOnly),
		renderedJSON("rendered_brief", render.OperationBrief),
		renderedJSON("rendered_params", render.OperationParams, fixed, sealed),
		renderedJSON("rendered_details", render.OperationDetails, sealed),
		renderedText("rendered_events", render.Events),
		renderedVersion(func(o *lcm.Operation) int64 { return o.Version }),
		renderedFormat[lcm.Operation](fixed),
	},
}

// oldPackage is the package that an operation moves its instance away from. It keeps the package while the operation is
// active.
var oldPackage = column[lcm.Operation]{
	name: "old_pkg_id", traits: fixed | writeOnly,
	encode: func(o *lcm.Operation) (any, error) {
		if o.Before == nil || o.VnfPkgID == "" {
			return nil, nil
		}
		return o.Before.VnfPkgID, nil
	},
}

var (
	operationColumns = operations.selected(claimOnly)
	// operationBrief leaves out what is large or sealed (lcm.Query.Brief).
	operationBrief = operations.selected(large, claimOnly)
	// operationClaimed is what a node needs to work on an operation.
	operationClaimed = operations.selected()
)
