package crash_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/nfvo"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// granted is a world whose operations an NFVO grants, and a lane of nodes for it.
func granted(t *testing.T) (*lane, *nfvo.Server) {
	t.Helper()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	s := nfvo.Start(t)
	l := &lane{world: w, env: []string{
		"GYBE_NFVO_URL=" + s.URL, "GYBE_NFVO_POLL=" + interval.String(), "GYBE_NFVO_RETRY_BASE=" + interval.String(),
	}}
	l.node = spawn(t, database, w.data, l.env...)
	return l, s
}

// register registers the cloud as a VIM, and returns the vimId.
func (l *lane) register() string {
	l.t.Helper()
	v, err := l.node.api.CreateVim(l.t.Context(), gybeapi.Vim{
		Name: "registered", Type: "openstack", AuthURL: l.cloud.AuthURL(),
		VimProject: sol.KeyValuePairs{"name": simcloud.Project, "project_domain_name": simcloud.Domain},
		AuthCred: sol.KeyValuePairs{
			"username": simcloud.Username, "password": simcloud.Password, "user_domain_name": simcloud.Domain,
		},
	})
	require.NoError(l.t, err)
	return v.ID
}

// moves lets the NFVO move a new VNF to a registered VIM.
func moves(vimID string) func(sol.GrantRequest, *sol.Grant) {
	return func(r sol.GrantRequest, g *sol.Grant) {
		if r.Operation != sol.LcmOperationInstantiate {
			return
		}
		g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"moved": {
			VimID: vimID, VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3",
		}}
		for n := range g.AddResources {
			g.AddResources[n].VimConnectionID = "moved"
		}
	}
}

// grantWrites is a number of writes that reaches from the admission of an operation into PROCESSING.
const grantWrites = 9

// A node dies at every write around a grant, which refers to a registered VIM. The next node asks for the same grant,
// and the NFVO makes one.
func TestDeathAroundAGrant(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(deaths[after], func(t *testing.T) {
			t.Parallel()
			l, s := granted(t)
			s.Set(nfvo.Behaviour{Looks: 1, Change: moves(l.register())})
			vnfd := l.onboard(l.node.api, plainSource)
			jobs := []*job{
				{typ: sol.LcmOperationInstantiate, do: l.instantiate(l.plain()), phases: []string{
					"grant", "infra", "inventory",
				}},
				{typ: sol.LcmOperationTerminate, do: l.terminate(), phases: []string{"grant", "infra"}},
			}
			for n := 1; n <= grantWrites; n++ {
				id := l.create(l.node.api, vnfd)
				for _, j := range jobs {
					l.run(j, id, death{Nth: n, After: after})
					require.Len(t, s.Grants(l.newest(l.node.api, id, j.typ)), 1)
					if j.typ == sol.LcmOperationInstantiate {
						i, err := l.node.api.Instance(t.Context(), id)
						require.NoError(t, err)
						require.Contains(t, i.VimConnectionInfo, "moved")
					}
				}
				l.gone()
				require.NoError(t, l.node.api.DeleteInstance(t.Context(), id))
			}
			require.GreaterOrEqual(t, l.deaths, 2*grantWrites-2)
		})
	}
}

// A node dies when the NFVO has granted and not yet answered.
func TestDeathBeforeTheAnswerOfTheNFVO(t *testing.T) {
	t.Parallel()
	l, s := granted(t)
	id := l.create(l.node.api, l.onboard(l.node.api, plainSource))
	asked, dead := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(asked); <-dead })
	s.Set(nfvo.Behaviour{Asked: func(sol.GrantRequest) { first() }})
	op, err := l.instantiate(l.plain())(l.node.api, id)
	require.NoError(t, err)
	<-asked
	l.node.kill()
	close(dead)
	l.node = spawn(t, l.database, l.data, l.env...)
	l.completed(l.node.api, op)
	requests := s.Requests(op)
	require.Len(t, requests, 2)
	require.Equal(t, requests[0], requests[1])
	require.Len(t, s.Grants(op), 1)
	l.once(op, "grant", "infra", "inventory")
	require.True(t, slices.Equal([]string{"1"}, l.column(
		"SELECT attempts::text FROM lcm_op_step WHERE op_id = $1 AND name = 'request grant'", op,
	)))
}
