package openstack

import (
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// unprocessable makes an error of the connection with this key a CodeUnprocessable one, for requests that give the
// connection: wrong credentials, and an address that the node does not connect to. Other errors are the VIM's.
func unprocessable(key string, err error) error {
	var member string
	switch {
	case cloud.LoginRefused(err):
		member = "/accessInfo"
	case cloud.AddressRejected(err):
		member = "/interfaceInfo/endpoint"
	default:
		return err
	}
	return pointAt(key, member, err)
}

// pointAt is an error of a member of the connection with this key.
func pointAt(key, member string, err error) error {
	e := *lcm.AsError(err)
	e.Code = lcm.CodeUnprocessable
	e.Params = []lcm.InvalidParam{{Pointer: "/vimConnectionInfo/" + lcm.Escape(key) + member, Detail: e.Detail}}
	return &e
}
