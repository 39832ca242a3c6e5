package conformance_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// body makes the body of a request. media is its type.
func (n *node) body(name string, v values) (raw []byte, media string, err error) {
	media = "application/json"
	var out any
	switch name {
	case "create":
		out = sol.CreateVnfRequest{VnfdID: v["vnfd"], VnfInstanceName: v["name"]}
	case "instantiate":
		out = n.standard("smallest")
	case "scale":
		out = stack.Scale(sol.ScaleTypeOut, 1)
	case "scale_to_level":
		out = sol.ScaleVnfToLevelRequest{InstantiationLevelID: "volumes"}
	case "change_flavour":
		out = stack.Large()
	case "terminate":
		out = sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful}
	case "heal":
		out = sol.HealVnfRequest{Cause: "a case of a list"}
	case "operate":
		out = sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStopped, StopType: sol.StopTypeForceful}
	case "change_ext_conn":
		out = n.requests.Reconnected("net_mgmt")
	case "instantiate_v1":
		out = map[string]any{"flavourId": "default", "vimConnectionInfo": []any{
			map[string]any{"id": "vim1", "vimType": "openstack"},
		}}
	case "change_ext_conn_v1": // the configurations of connection points are lists
		out = map[string]any{"extVirtualLinks": []any{map[string]any{
			"id": "net_mgmt", "resourceId": uuid.NewString(), "extCps": []any{map[string]any{"cpdId": "VDU1_CP1"}},
		}}}
	case "change_flavour_v1":
		out = map[string]any{"newFlavourId": "large"}
	case "change_vnfpkg":
		out = stack.NextVersion(v["vnfd"])
	case "modify":
		media, out = "application/merge-patch+json", map[string]any{"vnfInstanceName": "renamed"}
	case "empty":
		out = map[string]any{}
	case "of_snapshot":
		out = sol.CreateVnfSnapshotRequest{VnfSnapshotInfoID: v["snapshot"]}
	case "snapshot_package":
		media = "application/merge-patch+json"
		out = sol.VnfSnapshotInfoModificationRequest{VnfSnapshotPkgID: v["package"]}
	case "cancel":
		out = sol.CancelMode{CancelMode: sol.CancelModeForceful}
	case "subscription":
		out = sol.LccnSubscriptionRequest{CallbackURI: n.callback(v), Filter: &sol.LifecycleChangeNotificationsFilter{
			VnfInstanceSubscriptionFilter: &sol.VnfInstanceSubscriptionFilter{VnfInstanceNames: []string{v["name"]}},
		}}
	case "package_subscription":
		of := map[string]any{"vnfPkgId": []string{v["package"]}}
		out = map[string]any{"callbackUri": n.callback(v), "filter": of}
	case "create_package":
		out = sol.CreateVnfPkgInfoRequest{UserDefinedData: sol.KeyValuePairs{"key": "value"}}
	case "enable", "disable":
		media, out = "application/merge-patch+json", map[string]any{
			"operationalState": map[string]string{"enable": "ENABLED", "disable": "DISABLED"}[name],
		}
	case "uri":
		out = sol.UploadVnfPackageFromUriRequest{AddressInformation: n.receiver.url + "/package.zip"}
	case "archive":
		raw, err = os.ReadFile(n.archive("plain"))
		return distinct(raw), "application/zip", err
	case "small_archive":
		return smallArchive(v["vnfd"]), "application/zip", nil
	default:
		return nil, "", fmt.Errorf("unknown body %q", name)
	}
	raw, err = json.Marshal(out)
	return raw, media, err
}

// distinct gives an archive without a comment one of its own: a package with the content of another one is refused, and
// that of an earlier case may be there still.
func distinct(archive []byte) []byte {
	comment := uuid.NewString()
	if len(archive) < 2 {
		return archive
	}
	out := binary.LittleEndian.AppendUint16(archive[:len(archive)-2:len(archive)-2], uint16(len(comment)))
	return append(out, comment...)
}

// callback is the address to which notifications of a case are sent.
func (n *node) callback(v values) string { return n.receiver.url + "/" + v["name"] }
