package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// instanceRow is a row of vnf_instance.
type instanceRow struct {
	ID                     string    `db:"id"`
	Version                int64     `db:"version"`
	Created                time.Time `db:"created"`
	Updated                time.Time `db:"updated"`
	Name                   string    `db:"name"`
	Description            string    `db:"description"`
	VnfdID                 string    `db:"vnfd_id"`
	VnfPkgID               string    `db:"vnf_pkg_id"`
	Provider               string    `db:"provider"`
	ProductName            string    `db:"product_name"`
	SoftwareVersion        string    `db:"software_version"`
	VnfdVersion            string    `db:"vnfd_version"`
	State                  string    `db:"state"`
	HoldsResources         bool      `db:"holds_resources"`
	VimConnections         []byte    `db:"vim_connections"`
	ConfigurableProperties []byte    `db:"configurable_properties"`
	Metadata               []byte    `db:"metadata"`
	Extensions             []byte    `db:"extensions"`
	Instantiated           []byte    `db:"instantiated"`
	Inventory              []byte    `db:"inventory"`
	Params                 []byte    `db:"params"`
	FormerVims             []byte    `db:"former_vims"`
	SSHKey                 []byte    `db:"ssh_key"`

	fingerprint []byte
}

const (
	instanceSmall = `i.id, i.version, i.created, i.updated, i.name, i.description, i.vnfd_id, i.vnf_pkg_id, i.provider,
		i.product_name, i.software_version, i.vnfd_version, i.state, i.holds_resources, `
	instanceColumns = instanceSmall + `i.vim_connections, i.configurable_properties, i.metadata, i.extensions, i.instantiated, i.inventory,
		i.params, i.former_vims, i.ssh_key`
	// instanceBrief leaves out what is large or sealed (lcm.Query.Brief).
	instanceBrief = instanceSmall + `NULL::bytea AS vim_connections, NULL::jsonb AS configurable_properties, NULL::jsonb AS metadata,
		NULL::jsonb AS extensions, NULL::jsonb AS instantiated, NULL::jsonb AS inventory,
		NULL::bytea AS params, NULL::bytea AS former_vims, NULL::bytea AS ssh_key`
)

// encodeInstance makes the row of an instance, its secrets sealed.
func (s *Store) encodeInstance(i *lcm.Instance) (*instanceRow, error) {
	r := &instanceRow{
		ID: i.ID, Version: i.Version, Created: i.Created, Updated: i.Updated, Name: clean(i.Name), Description: clean(i.Description),
		VnfdID: i.VnfdID, VnfPkgID: i.VnfPkgID, Provider: i.Provider, ProductName: i.ProductName,
		SoftwareVersion: i.SoftwareVersion, VnfdVersion: i.VnfdVersion, State: string(i.State), HoldsResources: i.HoldsResources,
	}
	var vims, params, former, key []byte
	var errs [9]error
	if i.VimConnections != nil {
		vims, errs[0] = json.Marshal(i.VimConnections)
	}
	if i.Params != nil {
		params, errs[6] = json.Marshal(i.Params)
	}
	if i.FormerVims != nil {
		former, errs[7] = json.Marshal(i.FormerVims)
	}
	if i.SSHKey != nil {
		key, errs[8] = json.Marshal(i.SSHKey)
	}
	r.ConfigurableProperties, errs[1] = jsonb(i.ConfigurableProperties)
	r.Metadata, errs[2] = jsonb(i.Metadata)
	r.Extensions, errs[3] = jsonb(i.Extensions)
	r.Instantiated, errs[4] = jsonb(i.Instantiated)
	r.Inventory, errs[5] = jsonb(i.Inventory)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	var all bytes.Buffer
	parts := [][]byte{
		[]byte(r.Name), []byte(r.Description), []byte(r.VnfdID), []byte(r.VnfPkgID), []byte(r.Provider), []byte(r.ProductName),
		[]byte(r.SoftwareVersion), []byte(r.VnfdVersion), []byte(r.State), boolByte(r.HoldsResources), vims,
		r.ConfigurableProperties, r.Metadata, r.Extensions, r.Instantiated, r.Inventory, params, former,
	}
	if key != nil { // those that have none keep the fingerprints that they have
		parts = append(parts, key)
	}
	for _, part := range parts {
		_ = binary.Write(&all, binary.BigEndian, uint64(len(part))) // a Buffer takes everything
		all.Write(part)
	}
	r.fingerprint = s.ring.Fingerprint(all.Bytes())
	r.VimConnections = s.seal("vnf_instance", "vim_connections", i.ID, vims)
	r.Params = s.seal("vnf_instance", "params", i.ID, params)
	r.FormerVims = s.seal("vnf_instance", "former_vims", i.ID, former)
	r.SSHKey = s.seal("vnf_instance", "ssh_key", i.ID, key)
	return r, nil
}

func boolByte(b bool) []byte {
	if b {
		return []byte{1}
	}
	return []byte{0}
}

// decodeInstance is the reverse of encodeInstance.
func (s *Store) decodeInstance(r *instanceRow) (*lcm.Instance, error) {
	i := &lcm.Instance{
		ID: r.ID, Version: r.Version, Created: r.Created.UTC(), Updated: r.Updated.UTC(), Name: r.Name, Description: r.Description,
		VnfdID: r.VnfdID, VnfPkgID: r.VnfPkgID, Provider: r.Provider, ProductName: r.ProductName,
		SoftwareVersion: r.SoftwareVersion, VnfdVersion: r.VnfdVersion, State: sol.InstantiationState(r.State), HoldsResources: r.HoldsResources,
	}
	vims, errVims := s.open("vnf_instance", "vim_connections", r.ID, r.VimConnections)
	params, errParams := s.open("vnf_instance", "params", r.ID, r.Params)
	former, errFormer := s.open("vnf_instance", "former_vims", r.ID, r.FormerVims)
	key, errKey := s.open("vnf_instance", "ssh_key", r.ID, r.SSHKey)
	if err := errors.Join(errVims, errParams, errFormer, errKey); err != nil {
		return nil, err
	}
	return i, errors.Join(
		decode(vims, &i.VimConnections),
		decode(params, &i.Params),
		decode(former, &i.FormerVims),
		decode(key, &i.SSHKey),
		decode(r.ConfigurableProperties, &i.ConfigurableProperties),
		decode(r.Metadata, &i.Metadata),
		decode(r.Extensions, &i.Extensions),
		decode(r.Instantiated, &i.Instantiated),
		decode(r.Inventory, &i.Inventory),
	)
}
