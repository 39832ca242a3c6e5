package clients_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// tableNames are those that a guide prints in a table. A key is a path: the name of a row, and of members in it, with
// points between them and [] behind a list, for each of its items; "" are the rows. The value are the names at that
// path. One with a question mark is blank in the guide, and may be blank or left out; the others have a value.
type tableNames map[string]string

// clusterRows are the names of a guide.
type clusterRows struct {
	pkg, instance tableNames
	// differs says why a path of these names is not printed.
	differs map[string]string
}

// packageRows are the names of vnf package show, which are the same in both guides except for one.
func packageRows(artifacts, imagePath string) tableNames {
	return tableNames{
		"": artifacts + ",Checksum,ID,Links,Onboarding State,Operational State,Software Images,Usage State," +
			"User Defined Data?,VNF Product Name,VNF Provider,VNF Software Version,VNFD ID,VNFD Version",
		"Checksum":             "algorithm,hash",
		"Links":                "self,packageContent",
		"Links.self":           "href",
		"Links.packageContent": "href",
		"Software Images[]": imagePath + ",id,name,version,size,createdAt,containerFormat,diskFormat,minDisk,minRam," +
			"provider?,checksum,userMetadata?",
		"Software Images[].checksum": "algorithm,hash",
	}
}

const info = "Instantiated Vnf Info"

// rowsOfVersion1 has the row of the package by the name that clients of today print; the guide has VNF Package ID.
// It is blank here, although the answer has vnfPkgId: these clients print nothing for attributes that they do not know.
// The guide has one connection to a VIM; here the cluster is another one, without accessInfo. The ports of external
// networks are in extLinkPorts.
var rowsOfVersion1 = clusterRows{
	pkg: packageRows("Additional Artifacts", "imagePath?"),
	instance: tableNames{
		"": "" +
			"ID,Instantiated Vnf Info,Instantiation State,Links,VIM Connection Info,VNF Instance Description?," +
			"VNF Instance Name,vnfPkgId?,VNF Product Name,VNF Provider,VNF Software Version,VNFD ID,VNFD Version",
		info: "flavourId,vnfState,scaleStatus,extCpInfo,extVirtualLinkInfo,vnfcResourceInfo," +
			"vnfVirtualLinkResourceInfo,vnfcInfo,additionalParams",
		info + ".scaleStatus[]": "aspectId,scaleLevel",
		info + ".extCpInfo[]": "" +
			"id,cpdId,extLinkPortId?,associatedVnfcCpId,cpProtocolInfo",
		info + ".extCpInfo[].cpProtocolInfo[]": "layerProtocol",
		info + ".extVirtualLinkInfo[]": "" +
			"id,resourceHandle,extLinkPorts",
		info + ".extVirtualLinkInfo[].extLinkPorts[]": "" +
			"id,resourceHandle,cpInstanceId",
		info + ".extVirtualLinkInfo[].resourceHandle": "" +
			"vimConnectionId?,resourceId,vimLevelResourceType?",
		info + ".vnfcResourceInfo[]": "" +
			"id,vduId,computeResource,storageResourceIds?,vnfcCpInfo",
		info + ".vnfcResourceInfo[].computeResource": "" +
			"vimConnectionId,resourceId,vimLevelResourceType",
		info + ".vnfcResourceInfo[].vnfcCpInfo[]": "" +
			"id,cpdId,vnfExtCpId,vnfLinkPortId,cpProtocolInfo",
		info + ".vnfcInfo[]": "id,vduId,vnfcState",
		info + ".additionalParams": "" +
			"lcm-operation-user-data,lcm-operation-user-data-class,k8sClusterInstallationParam",
		info + ".additionalParams.k8sClusterInstallationParam": "" +
			"vimName,proxy,masterNode,scriptPath,workerNode",
		info + ".additionalParams.k8sClusterInstallationParam.proxy": "" +
			"noProxy,httpProxy,httpsProxy,k8sNodeCidr",
		info + ".additionalParams.k8sClusterInstallationParam.masterNode": "" +
			"password,podCidr,username,aspectId," +
			"nicCpName,sshCpName,clusterCidr,clusterCpName",
		info + ".additionalParams.k8sClusterInstallationParam.workerNode": "" +
			"password,username,aspectId,nicCpName," +
			"sshCpName",
		"VIM Connection Info[]":            "id,vimId,vimType,interfaceInfo?,accessInfo?",
		"VIM Connection Info[].accessInfo": "authUrl",
	},
	differs: map[string]string{
		info + ".additionalParams.k8sClusterInstallationParam.masterNode.password": "" +
			"passwords are not shown",
		info + ".additionalParams.k8sClusterInstallationParam.workerNode.password": "" +
			"passwords are not shown",
		info + ".vnfVirtualLinkResourceInfo": "" +
			"the networks are external, so that they are in extVirtualLinkInfo alone",
		info + ".vnfcResourceInfo[].vnfcCpInfo[].vnfLinkPortId": "" +
			"the port is that of the external connection point " +
			"which vnfExtCpId names",
		info + ".vnfcResourceInfo[].vnfcCpInfo[].cpProtocolInfo": "" +
			"the protocol is that of the external connection " +
			"point which vnfExtCpId names",
		"VIM Connection Info[].accessInfo.authUrl": "the URL is the endpoint in interfaceInfo",
	},
}

var rowsOfVersion2 = clusterRows{
	pkg: packageRows("Additional Artifacts?", "imagePath"),
	instance: tableNames{
		"": "" +
			"ID,Instantiated Vnf Info,Instantiation State,Links,VIM Connection Info,VNF Configurable Properties?," +
			"VNF Instance Description,VNF Instance Name,VNF Product Name,VNF Provider,VNF Software Version,VNFD ID," +
			"VNFD Version",
		info: "" +
			"flavourId,vnfState,scaleStatus,maxScaleLevels,extCpInfo,extVirtualLinkInfo,vnfcResourceInfo,vnfcInfo," +
			"metadata",
		info + ".scaleStatus[]":    "aspectId,scaleLevel",
		info + ".maxScaleLevels[]": "aspectId,scaleLevel",
		info + ".extCpInfo[]": "" +
			"id,cpdId,cpConfigId,cpProtocolInfo,extLinkPortId,associatedVnfcCpId",
		info + ".extCpInfo[].cpProtocolInfo[]": "" +
			"layerProtocol,ipOverEthernet",
		info + ".extCpInfo[].cpProtocolInfo[].ipOverEthernet":               "ipAddresses",
		info + ".extCpInfo[].cpProtocolInfo[].ipOverEthernet.ipAddresses[]": "type,isDynamic",
		info + ".extVirtualLinkInfo[]": "" +
			"id,resourceHandle,extLinkPorts,currentVnfExtCpData",
		info + ".extVirtualLinkInfo[].resourceHandle": "resourceId",
		info + ".extVirtualLinkInfo[].extLinkPorts[]": "" +
			"id,resourceHandle,cpInstanceId",
		info + ".extVirtualLinkInfo[].extLinkPorts[].resourceHandle": "" +
			"vimConnectionId,resourceId,vimLevelResourceType",
		info + ".extVirtualLinkInfo[].currentVnfExtCpData[]": "cpdId,cpConfig",
		info + ".vnfcResourceInfo[]": "" +
			"id,vduId,computeResource,vnfcCpInfo,metadata",
		info + ".vnfcResourceInfo[].computeResource": "" +
			"vimConnectionId,resourceId,vimLevelResourceType",
		info + ".vnfcResourceInfo[].vnfcCpInfo[]": "id,cpdId,vnfExtCpId",
		info + ".vnfcResourceInfo[].metadata": "" +
			"creation_time,stack_id,vdu_idx,flavor",
		info + ".vnfcInfo[]": "" +
			"id,vduId,vnfcResourceInfoId,vnfcState",
		info + ".metadata":     "stack_id,nfv,tenant",
		info + ".metadata.nfv": "VDU,CP",
		info + ".metadata.nfv.VDU": "" +
			"masterNode-0,workerNode-0,workerNode-1",
		info + ".metadata.nfv.VDU.masterNode-0": "" +
			"computeFlavourId,vcImageId",
		info + ".metadata.nfv.VDU.workerNode-1": "" +
			"computeFlavourId,vcImageId",
		info + ".metadata.nfv.CP": "" +
			"masterNode_CP1-0,workerNode_CP1-0,workerNode_CP1-1",
		info + ".metadata.nfv.CP.masterNode_CP1-0": "network",
		info + ".metadata.nfv.CP.workerNode_CP1-1": "network",
		"VIM Connection Info":                      "vim1",
		"VIM Connection Info.vim1": "" +
			"vimId,vimType,interfaceInfo,accessInfo",
		"VIM Connection Info.vim1.interfaceInfo": "endpoint",
		"VIM Connection Info.vim1.accessInfo": "" +
			"region,project,username,userDomain,projectDomain",
	},
}

// check wants the names of a table in the rows, and reports all that are not as in the guide.
func (c clusterRows) check(t *testing.T, table tableNames, rows obj) {
	t.Helper()
	for path, list := range table {
		parents := found(rows, path)
		for name := range strings.SplitSeq(list, ",") {
			name, blank := strings.CutSuffix(name, "?")
			full := strings.TrimPrefix(path+"."+name, ".")
			if reason, ok := c.differs[full]; ok {
				for _, p := range parents {
					assert.NotContains(t, p, name, "%s is printed, although %s", full, reason)
				}
				continue
			}
			if !assert.NotEmpty(t, parents, "nothing has %s", full) {
				continue
			}
			for _, p := range parents {
				member, _ := p.(obj)
				assert.True(t, blank || !isBlank(member[name]), "%s is blank in %v", full, p)
			}
		}
	}
}

// isBlank says that a value says nothing.
func isBlank(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == "" || v == "None"
	case []any:
		return len(v) == 0
	case obj:
		return len(v) == 0
	default:
		return false
	}
}

// found are the values at a path of names.
func found(value any, path string) (values []any) {
	if path == "" {
		return []any{value}
	}
	name, rest, _ := strings.Cut(path, ".")
	parent, _ := value.(obj)
	name, isList := strings.CutSuffix(name, "[]")
	member, ok := parent[name]
	if !ok {
		return nil
	}
	if !isList {
		return found(member, rest)
	}
	items, _ := member.([]any)
	for _, item := range items {
		values = append(values, found(item, rest)...)
	}
	return values
}
