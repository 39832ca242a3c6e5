package web_test

import (
	"encoding/json"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// grow adds an instance that was modified, healed and is being scaled, which a user has cancelled.
func (w *world) grow(i *lcm.Instance) {
	deploy(i)
	i.State = sol.InstantiationStateInstantiated
	w.instances = append(w.instances, i)
	vnfcs, links := i.Instantiated.VnfcInfo, i.Instantiated.ExtVirtualLinkInfo
	const gone, heir = "workerNode-0f0e0d0c-dd2f-4f5a-83e6-4b8e8e589d99", 4
	links[1].CurrentVnfExtCpData = []sol.VnfExtCpData{{CpdID: "workerNode_CP1"}}
	w.ops = append(w.ops,
		&lcm.Operation{
			ID: modified, InstanceID: site, Type: sol.LcmOperationModifyInfo, State: sol.LcmOperationStateCompleted,
			Node: "gybe-a", Started: began.Add(-20 * time.Minute),
			StateEntered: began.Add(-20*time.Minute + 30*time.Millisecond),
			Params: json.RawMessage(
				`{"vnfInstanceName":"site-cluster","metadata":{"db_password":"` + secret + `"}}`,
			),
			ChangedInfo: &sol.VnfInfoModifications{
				VnfInstanceName:   "site-cluster",
				Metadata:          sol.KeyValuePairs{"owner": "team <core>", "db_password": secret},
				VimConnectionInfo: map[string]sol.VimConnectionInfo{"vim1": openstack()},
			},
		},
		&lcm.Operation{
			ID: healed, InstanceID: site, Type: sol.LcmOperationHeal, State: sol.LcmOperationStateCompleted,
			Node: "gybe-a", Started: began.Add(-10 * time.Minute),
			StateEntered: began.Add(-10*time.Minute + 48*time.Second),
			Scope:        &lcm.Scope{Flavour: "complex", VNFCs: []string{gone}},
			ResourceChanges: &sol.ResourceChanges{
				AffectedVnfcs: []sol.AffectedVnfc{
					{
						ID: gone, VduID: "workerNode", ChangeType: sol.ChangeTypeRemoved,
						ComputeResource: sol.ResourceHandle{
							ResourceID: "0f0e0d0c-dd2f-4f5a-83e6-4b8e8e589d99",
						},
						RemovedStorageResourceIds: []string{"vol-1"},
					},
					{
						ID: vnfcs[heir].ID, VduID: "workerNode", ChangeType: sol.ChangeTypeAdded,
						ComputeResource:         sol.ResourceHandle{ResourceID: vnfcs[heir].VnfcResourceInfoID},
						AddedStorageResourceIds: []string{"vol-2", "vol-3"},
					},
				},
				AffectedVirtualLinks: []sol.AffectedVirtualLink{{
					ID: "storage-net", VnfVirtualLinkDescID: "storageVL",
					ChangeType:      sol.ChangeTypeLinkPortAdded,
					NetworkResource: sol.ResourceHandle{ResourceID: "0c7f3f9e-5555-4444-8888-1234567890ab"},
					VnfLinkPortIds:  []string{"p1"},
				}},
				AffectedExtLinkPorts: []sol.AffectedExtLinkPort{{
					ID: "port-9", ChangeType: sol.ChangeTypeAdded,
					ExtCpInstanceID: "cp-port-9", ResourceHandle: sol.ResourceHandle{ResourceID: "port-9"},
				}},
				AffectedVirtualStorages: []sol.AffectedVirtualStorage{{
					ID: "vol-1", VirtualStorageDescID: "workerVolume",
					ChangeType: sol.ChangeTypeRemoved, StorageResource: sol.ResourceHandle{ResourceID: "vol-1"},
				}},
			},
			ChangedExtConnectivity: []sol.ExtVirtualLinkInfo{links[1]},
		},
		&lcm.Operation{
			ID: scaling, InstanceID: site, Type: sol.LcmOperationScale, State: sol.LcmOperationStateProcessing,
			Started: began.Add(time.Minute), Node: "gybe-b",
			StateEntered: began.Add(time.Minute + 200*time.Millisecond), Phase: "infra",
			Deadline: began.Add(2 * time.Hour), Cancel: sol.CancelModeGraceful,
			Waiting: "stack vnf-" + site + ": UPDATE_IN_PROGRESS, 1 of 3 servers",
			Params:  json.RawMessage(`{"type":"SCALE_OUT","aspectId":"workerNode_scale","numberOfSteps":1}`),
			Scope: &lcm.Scope{
				Flavour: "complex", ScaleLevels: map[string]int{"workerNode_scale": 2},
				Counts: map[string]int{"masterNode": 3, "workerNode": 3}, Add: map[string]int{"workerNode": 1},
				Remove: []string{vnfcs[heir].ID},
			},
		},
	)
	phases := map[string][]string{
		modified: {"modify"}, healed: {"grant", "infra", "inventory"}, scaling: {"grant", "infra"},
	}
	for _, op := range w.ops[len(w.ops)-3:] {
		for n, name := range phases[op.ID] {
			p := lcm.PhaseRecord{Name: name, State: lcm.PhaseDone, Started: op.Started.Add(
				time.Duration(n) * time.Second,
			), Finished: op.Started.Add(time.Duration(n+1) * time.Second)}
			if op.ID == scaling && name == "infra" {
				p.State, p.Finished = lcm.PhaseWaiting, time.Time{}
			}
			w.phases[op.ID] = append(w.phases[op.ID], p)
		}
	}
}
