package lcm

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// maxPrevious bounds the previous connections of a VIM.
const maxPrevious = 8

// placing are the members of accessInfo that say in which part of a VIM resources are. An application credential
// belongs to a project that only Keystone knows.
var placing = []string{
	"project", "projectName", "projectId", "projectDomain", "projectDomainName", "projectDomainId", "region",
	"regionName", "cloud", "namespace", "applicationCredentialId", "applicationCredentialName",
}

// Reconnect replaces the connection of a registered VIM. The previous one is remembered if the new one leads to the
// same resources, so that instances with a copy of it are renewed (Renew).
func (v *Vim) Reconnect(c sol.VimConnectionInfo) {
	previous := append(slices.Clone(v.Previous), v.Connection)
	previous = slices.DeleteFunc(previous, func(old sol.VimConnectionInfo) bool {
		return sameConnection(old, c) || !samePlace(old, c)
	})
	v.Previous = previous[max(0, len(previous)-maxPrevious):]
	if len(v.Previous) == 0 {
		v.Previous = nil
	}
	v.Connection = c
}

// Renew returns connections in which each copy of a previous connection of a registered VIM has the present credentials
// of the VIM, and the keys of those that it has renewed. A connection to the cluster of another instance (ExtraCluster)
// always gets them: a cluster that is healed as a whole has others, and its address may differ. Any other connection
// stays: one that differs from what the registry had was given by a request, and a connection to a cluster that an
// instance has made is kept by the instance. conns is not changed.
func Renew(
	conns map[string]sol.VimConnectionInfo, vims []Vim,
) (renewed map[string]sol.VimConnectionInfo, keys []string) {
	renewed = conns
	for _, key := range sortedKeys(conns) {
		c := conns[key]
		n := slices.IndexFunc(vims, func(v Vim) bool { return c.VimID != "" && v.ID == c.VimID })
		if n < 0 || c.Extra[ExtraOwner] != nil {
			continue
		}
		v := vims[n]
		same := func(old sol.VimConnectionInfo) bool { return sameConnection(Typed(old, c.VimType), c) }
		if !slices.ContainsFunc(v.Previous, same) && !follows(c, v) || same(v.Connection) {
			continue
		}
		if keys == nil {
			renewed = maps.Clone(conns)
		}
		c.InterfaceInfo, c.AccessInfo = v.Connection.InterfaceInfo, v.Connection.AccessInfo
		renewed[key], keys = c, append(keys, key)
	}
	return renewed, keys
}

// Renew renews the connections of an instance, those of its last instantiation, too, and returns the keys.
func (i *Instance) Renew(vims []Vim) []string {
	now, keys := Renew(i.VimConnections, vims)
	before, others := Renew(i.PreviousVims, vims)
	i.VimConnections, i.PreviousVims = now, before
	return append(keys, others...)
}

// sameConnection says whether two connections reach the same VIM with the same credentials.
func sameConnection(a, b sol.VimConnectionInfo) bool {
	return a.VimType == b.VimType && samePairs(a.InterfaceInfo, b.InterfaceInfo) &&
		samePairs(a.AccessInfo, b.AccessInfo)
}

func samePairs(a, b sol.KeyValuePairs) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

// samePlace says whether two connections lead to the same resources. The users may differ.
func samePlace(a, b sol.VimConnectionInfo) bool {
	endpoint := func(c sol.VimConnectionInfo) string {
		s, _ := c.InterfaceInfo["endpoint"].(string)
		return strings.TrimRight(s, "/")
	}
	differs := func(member string) bool { return !reflect.DeepEqual(a.AccessInfo[member], b.AccessInfo[member]) }
	return a.VimType == b.VimType && endpoint(a) == endpoint(b) && !slices.ContainsFunc(placing, differs)
}
