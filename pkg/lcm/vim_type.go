package lcm

import "github.com/gybe-nfv/gybe/pkg/sol"

// registeredTypes has, by the type of a VIM connection, the type with which its VIMs are registered, if it is another
// one.
var registeredTypes = map[string]string{}

// RegisterVimType declares that connections of a type reach VIMs that are registered with another type: the vimType of
// a request that names such a VIM by vimId decides which driver is used. An infra driver calls it from init.
func RegisterVimType(connection, registered string) { registeredTypes[connection] = registered }

// Typed returns the connection of a registered VIM with the vimType of a request that refers to it. Another type than
// one that RegisterVimType has declared for such VIMs changes nothing.
func Typed(registered sol.VimConnectionInfo, vimType string) sol.VimConnectionInfo {
	if t, ok := registeredTypes[vimType]; ok && t == registered.VimType {
		registered.VimType = vimType
	}
	return registered
}
