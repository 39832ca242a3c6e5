package kubeapi

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Cluster is the state that all API servers of a cluster share.
type Cluster struct {
	pki   *pki
	now   func() time.Time
	store *Store
}

type pki struct {
	caPEM, caKeyPEM []byte
	hash            string
}

// Server serves a cluster on some listeners.
type Server struct{ sick atomic.Bool }

type handler struct{ c *Cluster }

func (h *handler) ServeHTTP(http.ResponseWriter, *http.Request) {}

func newCluster(Options) (*Cluster, error) {
	return &Cluster{pki: &pki{}, now: time.Now, store: NewStore(time.Now)}, nil
}
func (c *Cluster) shut() {}
func (c *Cluster) do(context.Context, User, string, string, string, []byte) (int, []byte) {
	return 503, nil
}
func (c *Cluster) apply(context.Context, User, string, []byte) (string, error) { return "", nil }
func (p *pki) serving(time.Time, []string) (tls.Certificate, error) {
	return tls.Certificate{}, nil
}
func (p *pki) client(time.Time, string, []string) (Credential, error) { return Credential{}, nil }
func (c *Cluster) kubeconfig(string, string, Credential) []byte       { return nil }
func (c *Cluster) adminKubeconfig(string) ([]byte, error)             { return nil, nil }
func (c *Cluster) userOfKubeconfig([]byte) (User, string, bool)       { return User{}, "", false }
func (c *Cluster) createToken(time.Duration) string                   { return "" }
func (c *Cluster) addToken(string, time.Duration) bool                { return false }
func (c *Cluster) validToken(string) bool                             { return false }
func (c *Cluster) deleteToken(string) bool                            { return false }
func (c *Cluster) uploadCerts(string) string                          { return "" }
func (c *Cluster) validCertificateKey(string) error                   { return nil }
func (c *Cluster) addMember(string)                                   {}
func (c *Cluster) removeMember(string) bool                           { return false }
func (c *Cluster) setMemberUp(string, bool)                           {}
func (c *Cluster) members() []Member                                  { return nil }
func (c *Cluster) quorum() bool                                       { return true }
func (c *Cluster) addNode(NodeSpec)                                   {}
func (c *Cluster) setNodeReady(string, bool, string) bool             { return false }
func (c *Cluster) removeNode(string) bool                             { return false }
func (c *Cluster) nodeNames() []string                                { return nil }
func (c *Cluster) nodeReady(string) bool                              { return false }
func (c *Cluster) setCNI(bool)                                        {}
func (c *Cluster) serve(tls.Certificate, []net.Listener) *Server      { return &Server{} }
func (s *Server) shut()                                               {}
func (r Resource) path(string, string) string                         { return "" }

func (s *Store) bootstrapRoles() {}
