package lcm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// identifying are the members of accessInfo that tell logins to a VIM apart. None of them is secret.
var identifying = []string{
	"username", "userName", "userId", "userDomain", "userDomainName", "userDomainId", "project", "projectName",
	"projectId", "projectDomain", "projectDomainName", "projectDomainId", "region", "regionName", "cloud",
	"applicationCredentialId", "applicationCredentialName",
}

// VimKey identifies the VIM and the login of a connection: connections with the same key share limits. It contains no
// secret, and it is the same on every node.
func VimKey(v sol.VimConnectionInfo) string {
	text := func(m sol.KeyValuePairs, name string) string {
		s, _ := m[name].(string)
		return s
	}
	parts := []string{
		v.VimType, strings.TrimSuffix(strings.TrimRight(text(v.InterfaceInfo, "endpoint"), "/"), "/v3"),
		text(v.InterfaceInfo, "cloud"),
	}
	for _, name := range identifying {
		parts = append(parts, text(v.AccessInfo, name))
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:8])
}

// VimFault says that a VIM does not answer to a node.
type VimFault struct {
	Key   string    `json:"key"` // VimKey
	Since time.Time `json:"since"`
	Error string    `json:"error"`
}
