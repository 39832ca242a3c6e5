package lcm

import (
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// ParamPublicKey is the parameter by which the template of a package takes the public part of the instance's SSHKey. An infra driver gives it to
// every template that declares it, an empty text for an instance without a key; how it gets into the machines is the template's business.
const ParamPublicKey = "ssh_public_key"

// SSHKey is a key pair by which a mgmt driver logs in to the machines of one instance.
type SSHKey struct {
	// Public is a line of authorized_keys, without its end. It consists of letters, digits, spaces and + - . / = @ _ only, so that templates
	// can put it into any document.
	Public string `json:"public"`
	// Private is a PEM or OpenSSH private key without a passphrase.
	Private string `json:"private"`
}

// KeyMaker is a MgmtDriver that may need a key pair to log in to machines.
type KeyMaker interface {
	// NewKey makes the key pair for a valid INSTANTIATE request; nil when the request says how to log in.
	NewKey(r Request) (*SSHKey, error)
}

// makeKey gives an instance the key pair that its mgmt drivers need. It is stored with the admission of the instantiation, so there is none
// without the operation and none twice, and the same holds for whatever comes later until the instance is terminated.
func (s *Service) makeKey(d *draft) error {
	if d.kind != sol.LcmOperationInstantiate || d.instance.SSHKey != nil {
		return nil
	}
	r, err := d.request()
	if err != nil {
		return err
	}
	drivers, err := s.mgmtDrivers(r)
	if err != nil {
		return err
	}
	for _, driver := range drivers {
		maker, ok := driver.(KeyMaker)
		if !ok {
			continue
		}
		if d.instance.SSHKey, err = maker.NewKey(r); err != nil || d.instance.SSHKey != nil {
			return err
		}
	}
	return nil
}
