package vnfd

import "strings"

// Warning is a defect of a package that concerns only operations that may never be requested, or none. The package can
// be used; a request that would meet the defect is refused with its text.
type Warning struct {
	// Code is the kind of the defect. Its values are stable.
	Code string `json:"code,omitempty"`
	// Subject is the name of the thing that has the defect, such as a scaling aspect, a node or an artifact.
	Subject string `json:"subject,omitempty"`
	// FlavourID is the deployment flavour that has the defect, "" for the whole package.
	FlavourID string `json:"flavourId,omitempty"`
	// Location is the path of the file in the package, and after a # the JSON pointer (RFC 6901) to the value.
	Location string `json:"location,omitempty"`
	// Text says what is wrong and where; Remedy, which may be empty, says how to correct it.
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
	// Operations are those that can meet the defect, as values of LcmOperationType (SOL003 clause 5.5.4.5).
	Operations []string `json:"operations,omitempty"`
}

// Codes of warnings for which requests are refused.
const (
	UnknownNode     = "unknown_node"            // substitution_mappings name a node that is not declared
	NoDefaultLevel  = "no_default_level"        // several instantiation levels, and none is the default
	UnknownDelta    = "unknown_delta"           // a step of a scaling aspect does not say what it adds
	UnknownCounts   = "unknown_counts"          // an instantiation level depends on such a step
	MissingArtifact = "missing_artifact"        // an artifact is not a file of the package
	UnusableFlavour = "unusable_flavour"        // a file of a flavour that nothing imports has defects
	UnknownMgmt     = "unknown_mgmt_driver"     // the VNFD names a mgmt driver that does not exist here
	IgnoredMgmt     = "ignored_mgmt_driver"     // such a driver is ignored, because the upload asked for it
	MgmtNotIgnored  = "mgmt_driver_not_ignored" // the upload asked to ignore a driver that is not ignored
)

// Warning returns the warning of a flavour with this code about this subject, or nil.
func (f *Flavour) Warning(code, subject string) *Warning { return find(f.Warnings, code, subject) }

// Warning returns the warning of the whole VNFD with this code about this subject, or nil.
func (v *VNFD) Warning(code, subject string) *Warning { return find(v.Warnings, code, subject) }

func find(all []Warning, code, subject string) *Warning {
	for i := range all {
		if all[i].Code == code && all[i].Subject == subject {
			return &all[i]
		}
	}
	return nil
}

// hookOperations maps the operations of the interface tosca.interfaces.nfv.Vnflcm, without _start and _end, to values
// of LcmOperationType.
var hookOperations = map[string]string{
	"instantiate": "INSTANTIATE", "scale": "SCALE", "scale_to_level": "SCALE_TO_LEVEL",
	"change_flavour": "CHANGE_FLAVOUR", "heal": "HEAL", "operate": "OPERATE",
	"change_external_connectivity": "CHANGE_EXT_CONN", "change_current_package": "CHANGE_VNFPKG",
	"modify_information": "MODIFY_INFO", "create_snapshot": "CREATE_SNAPSHOT",
	"revert_to_snapshot": "REVERT_TO_SNAPSHOT", "terminate": "TERMINATE",
}

// HookOperation is the operation that runs a hook such as "scale_rollback_end", or "" for an unknown one.
func HookOperation(hook string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(hook, "_start"), "_end")
	return hookOperations[strings.TrimSuffix(name, "_rollback")]
}
