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

	fingerprint []byte
}

const (
	instanceSmall = `i.id, i.version, i.created, i.updated, i.name, i.description, i.vnfd_id, i.vnf_pkg_id, i.provider,
		i.product_name, i.software_version, i.vnfd_version, i.state, i.holds_resources, `
	instanceColumns = instanceSmall + `i.vim_connections, i.configurable_properties, i.metadata, i.extensions, i.instantiated, i.inventory`
	// instanceBrief leaves out what is large or sealed (lcm.Query.Brief).
	instanceBrief = instanceSmall + `NULL::bytea AS vim_connections, NULL::jsonb AS configurable_properties, NULL::jsonb AS metadata,
		NULL::jsonb AS extensions, NULL::jsonb AS instantiated, NULL::jsonb AS inventory`
)

// encodeInstance makes the row of an instance, its secrets sealed.
func (s *Store) encodeInstance(i *lcm.Instance) (*instanceRow, error) {
	r := &instanceRow{
		ID: i.ID, Version: i.Version, Created: i.Created, Updated: i.Updated, Name: clean(i.Name), Description: clean(i.Description),
		VnfdID: i.VnfdID, VnfPkgID: i.VnfPkgID, Provider: i.Provider, ProductName: i.ProductName,
		SoftwareVersion: i.SoftwareVersion, VnfdVersion: i.VnfdVersion, State: string(i.State), HoldsResources: i.HoldsResources,
	}
	var vims []byte
	var errs [6]error
	if i.VimConnections != nil {
		vims, errs[0] = json.Marshal(i.VimConnections)
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
	for _, part := range [][]byte{
		[]byte(r.Name), []byte(r.Description), []byte(r.VnfdID), []byte(r.VnfPkgID), []byte(r.Provider), []byte(r.ProductName),
		[]byte(r.SoftwareVersion), []byte(r.VnfdVersion), []byte(r.State), boolByte(r.HoldsResources), vims,
		r.ConfigurableProperties, r.Metadata, r.Extensions, r.Instantiated, r.Inventory,
	} {
		_ = binary.Write(&all, binary.BigEndian, uint64(len(part))) // a Buffer takes everything
		all.Write(part)
	}
	r.fingerprint = s.ring.Fingerprint(all.Bytes())
	r.VimConnections = s.seal("vnf_instance", "vim_connections", i.ID, vims)
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
	vims, err := s.open("vnf_instance", "vim_connections", r.ID, r.VimConnections)
	if err != nil {
		return nil, err
	}
	return i, errors.Join(
		decode(vims, &i.VimConnections),
		decode(r.ConfigurableProperties, &i.ConfigurableProperties),
		decode(r.Metadata, &i.Metadata),
		decode(r.Extensions, &i.Extensions),
		decode(r.Instantiated, &i.Instantiated),
		decode(r.Inventory, &i.Inventory),
	)
}
