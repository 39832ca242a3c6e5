package lcm

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// givenPairs are the members of a request that become attributes of the instance once the operation has succeeded.
type givenPairs struct {
	Extensions             sol.KeyValuePairs `json:"extensions"`
	ConfigurableProperties sol.KeyValuePairs `json:"vnfConfigurableProperties"`
	AdditionalParams       sol.KeyValuePairs `json:"additionalParams"`
}

func (w *Execution) given() (givenPairs, error) {
	var g givenPairs
	if err := json.Unmarshal(w.Op.Params, &g); err != nil {
		return g, fmt.Errorf("decode the operation's request: %w", err)
	}
	return g, nil
}

// merge puts the extensions and configurable properties of a request over those of the instance.
func (i *Instance) merge(g givenPairs) (err error) {
	if i.Extensions, err = mergeRaw(i.Extensions, g.Extensions); err != nil {
		return err
	}
	i.ConfigurableProperties, err = mergeRaw(i.ConfigurableProperties, g.ConfigurableProperties)
	return err
}

// instantiated ends a successful instantiation.
func instantiated(w *Execution) error {
	g, err := w.given()
	if err != nil {
		return err
	}
	i := w.Instance
	i.State = sol.InstantiationStateInstantiated
	i.PreviousVims = nil
	w.keepAssets()
	return i.merge(g)
}

// changed ends a successful change of an instance: what the request brought holds from now on.
func changed(w *Execution, infra Infra) error {
	i, before := w.Instance, w.Op.Before
	if before == nil {
		return nil
	}
	w.keepAssets()
	if w.Op.Kind().NewRevision {
		g, err := w.given()
		if err != nil {
			return err
		}
		if i.Params, err = mergeRaw(i.Params, lastingParams(infra, g.AdditionalParams)); err != nil {
			return err
		}
		if err := i.merge(g); err != nil {
			return err
		}
	}
	if w.Op.VnfPkgID != "" {
		setPackage(i, w.VNFD, w.Op.VnfPkgID)
		w.Op.Modifications = orNil(changedPackage(before, i))
	}
	var err error
	w.Op.ChangedInfo, err = changedInfo(before, i)
	return err
}

// keepAssets remembers the flavours and images of the grant for later operations, whose grants do not repeat them.
func (w *Execution) keepAssets() {
	if w.Op.Grant != nil && w.Op.Grant.Assets != nil {
		w.Instance.Assets = w.Op.Grant.Assets
	}
}

// modified ends a MODIFY_INFO.
func modified(w *Execution) error {
	if w.Op.Before == nil {
		return nil
	}
	info := sol.VnfInfoModifications{}
	c, err := changedInfo(w.Op.Before, w.Instance)
	if err != nil {
		return err
	}
	if c != nil {
		info = *c
	}
	p := changedPackage(w.Op.Before, w.Instance)
	info.VnfdID, info.VnfProvider, info.VnfProductName = p.VnfdID, p.VnfProvider, p.VnfProductName
	info.VnfSoftwareVersion, info.VnfdVersion = p.VnfSoftwareVersion, p.VnfdVersion
	w.Op.ChangedInfo = orNil(info)
	return nil
}

// unmodified ends the rollback of a MODIFY_INFO.
func unmodified(w *Execution) error {
	before := w.Op.Before
	if before == nil {
		return nil
	}
	i := *before
	i.Version, i.Updated = w.Instance.Version, w.Instance.Updated
	*w.Instance = i
	w.Op.ChangedInfo = nil
	return nil
}

// restored ends the rollback of any other change.
func restored(w *Execution) error {
	if w.Op.Before != nil {
		w.Instance.VimConnections = w.Op.Before.VimConnections
	}
	return nil
}

// notInstantiated ends a termination or a rolled back instantiation: nothing is left in the VIM.
func notInstantiated(w *Execution) error {
	for _, r := range w.Instance.Inventory {
		w.ForgetVNFCs(r.VNFC)
	}
	w.Instance.Release()
	return nil
}

// Release makes the instance one that has nothing in its VIM.
func (i *Instance) Release() {
	i.State = sol.InstantiationStateNotInstantiated
	if previous := maps.Clone(i.VimConnections); len(previous) > 0 {
		maps.DeleteFunc(previous, func(_ string, c sol.VimConnectionInfo) bool { return c.Extra[ExtraOwner] != nil })
		i.PreviousVims = previous
	}
	i.Instantiated, i.Inventory, i.VimConnections, i.SSHKey = nil, nil, nil, nil
	i.HoldsResources, i.Unobserved, i.Params, i.Assets, i.Assembled = false, "", "", nil, nil
	i.PrimaryResource = ""
}
