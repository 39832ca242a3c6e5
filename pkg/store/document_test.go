package store_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/render"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/rendered"
)

// canary is a secret of which no form may be in stored JSON, however it is named and wherever it is.
const canary = "canary-7f31"

func canaries() sol.KeyValuePairs {
	return sol.KeyValuePairs{
		"password": canary,
		"nested":   map[string]any{"list": []any{map[string]any{"api-key": canary, "Client_Secret": canary}}},
		"proxy":    "http://user:" + canary + "@proxy:3128", "key": "-----BEGIN PRIVATE KEY-----\n" + canary,
		"kubeconfig": canary, "visible": "yes",
	}
}

func TestRenderedRowsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, op := b.admit(t)
	c, cl := b.claim(t, op.ID, "n")
	conns := map[string]sol.VimConnectionInfo{
		"vim1": {VimType: "T", InterfaceInfo: canaries(), AccessInfo: canaries(), Extra: canaries()},
	}
	remembered, err := canaries().Raw()
	require.NoError(t, err)
	c.Instance.VimConnections, c.Instance.PreviousVims, c.Instance.Params = conns, conns, remembered
	c.Instance.SSHKey = &lcm.SSHKey{Public: "public", Private: canary}
	c.Instance.Assembled = &lcm.AssembledStack{Template: canary, Parameters: canaries()}
	c.Instance.State = sol.InstantiationStateInstantiated
	c.Instance.Instantiated = &sol.InstantiatedVnfInfo{FlavourID: "simple", Metadata: canaries()}
	c.Op.ChangedInfo = &sol.VnfInfoModifications{VimConnectionInfo: conns}
	require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance}))

	other := newOperation(b.newInstance(t).ID)
	other.Params, err = json.Marshal(
		map[string]any{"flavourId": "simple", "additionalParams": canaries(), "vimConnectionInfo": conns},
	)
	require.NoError(t, err)
	require.NoError(t, b.Admit(t.Context(), other, nil, ok))

	id, err := b.InstanceDocument(t.Context(), i.ID)
	require.NoError(t, err)
	changed, err := b.OperationDocument(t.Context(), op.ID)
	require.NoError(t, err)
	params, err := b.OperationDocument(t.Context(), other.ID)
	require.NoError(t, err)
	for _, d := range []lcm.Document{id.Document, changed.Document, params.Document} {
		require.NotContains(t, string(d.Brief)+string(d.Details), canary)
		require.Contains(t, string(d.Details), "visible", "the values beside the secrets are shown")
	}
}

// TestRowsOfTheReleaseBeforeAreRenderedWhenTheyAreRead covers a rolling upgrade: a node that does not have the rendered
// columns inserts and updates rows.
func TestRowsOfTheReleaseBeforeAreRenderedWhenTheyAreRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, op := b.admit(t)
	second := b.newInstance(t)
	_, err := b.pool.Exec(
		t.Context(), "UPDATE vnf_instance SET name = 'renamed', version = version + 1 WHERE id = $1", i.ID,
	)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `UPDATE vnf_lcm_op_occ SET rendered_brief = NULL, rendered_params = NULL, rendered_details = NULL,
		rendered_events = NULL, rendered_version = NULL, rendered_format = NULL`) // inserted
	require.NoError(t, err)

	// A write of this release does not make the rest of the row valid.
	c, cl := b.claim(t, op.ID, "n")
	require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op}))
	o, err := b.OperationDocument(t.Context(), op.ID)
	require.NoError(t, err)
	require.Contains(t, string(o.Details), `"operationParams":{`)
	require.Equal(t, c.Op.Version, o.Version)
	require.Equal(t, "cancel", o.Events)

	list := rendered.Instances(t, b.InstanceDocuments(t.Context(), lcm.Query{Brief: true}))
	require.Len(t, list, 2)
	for _, d := range list {
		require.Nil(t, d.Details)
		name := map[string]string{i.ID: "renamed", second.ID: "k8s"}[d.ID]
		require.Contains(t, string(d.Brief), `"vnfInstanceName":"`+name+`"`)
	}
	require.Less(t, list[0].ID, list[1].ID)
	// The check at the end of the test finds that the rows are valid now.
}

func TestJSONOfANewerReleaseIsNotReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.raw = true
	i := b.newInstance(t)
	_, err := b.pool.Exec(
		t.Context(), `UPDATE vnf_instance SET rendered_brief = '{"newer":true}', rendered_format = $1`, render.Format+1,
	)
	require.NoError(t, err)
	d, err := b.InstanceDocument(t.Context(), i.ID)
	require.NoError(t, err)
	require.Contains(t, string(d.Brief), `"vnfInstanceName":"k8s"`, "this release does not understand the newer form")
	var stored string
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT rendered_brief FROM vnf_instance").Scan(&stored))
	require.Equal(t, `{"newer":true}`, stored)
}

// TestRenderingAgainDoesNotWaitForATransaction: a reader does not wait for a writer of the row.
func TestRenderingAgainDoesNotWaitForATransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.newInstance(t)
	_, err := b.pool.Exec(t.Context(), "UPDATE vnf_instance SET rendered_format = 0")
	require.NoError(t, err)
	require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SELECT FROM vnf_instance WHERE id = $1 FOR NO KEY UPDATE", i.ID)
		require.NoError(t, err)
		d, err := b.InstanceDocument(t.Context(), i.ID)
		require.NoError(t, err)
		require.Contains(t, string(d.Brief), `"vnfInstanceName":"k8s"`)
		return nil
	}))
	_, err = b.InstanceDocument(t.Context(), i.ID) // stores it
	require.NoError(t, err)
}

func TestStoredTextThatPostgreSQLDoesNotTakeIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, op := b.admit(t)
	c, cl := b.claim(t, op.ID, "n")
	c.Op.Error = &lcm.Failure{Status: 500, Detail: "before \x00 after \\u0000"}
	require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op}))
	d, err := b.OperationDocument(t.Context(), op.ID)
	require.NoError(t, err)
	require.Contains(t, string(d.Details), `before \ufffd after \\u0000`)
}

// TestInstanceDocumentsOfALoopStayUntilItEnds: the memory of a list is used again, but not before its loop has ended.
func TestInstanceDocumentsOfALoopStayUntilItEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	want := map[string]string{} // by id
	for n, size := range []int{10, 100_000, 10, 40_000, 40_000, 10} {
		i := b.newInstance(t)
		l, err := b.Lease(t.Context(), i.ID, "it changes the instance")
		require.NoError(t, err)
		want[i.ID] = strings.Repeat(strconv.Itoa(n), size)
		require.NoError(t, b.EndLease(t.Context(), l, func(i *lcm.Instance) { i.Description = want[i.ID] }))
	}
	check := func(docs map[string][]byte) {
		t.Helper()
		for id, brief := range docs {
			require.Contains(t, string(brief), `"vnfInstanceDescription":"`+want[id]+`"`)
		}
	}
	read := func(between func()) {
		docs := map[string][]byte{}
		for d, err := range b.InstanceDocuments(t.Context(), lcm.Query{}) {
			require.NoError(t, err)
			docs[d.ID] = d.Brief
			if len(docs) == len(want) {
				between()
				check(docs)
			}
		}
		require.Len(t, docs, len(want))
	}
	read(func() { read(func() {}) })
	for range b.InstanceDocuments(t.Context(), lcm.Query{}) {
		break
	}
	read(func() { read(func() {}) })
}

func TestValidatorsAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, op := b.admit(t)
	b.claim(t, op.ID, "n")
	d, err := b.InstanceDocument(t.Context(), i.ID)
	require.NoError(t, err)
	v, err := b.InstanceValidator(t.Context(), i.ID)
	require.NoError(t, err)
	require.Equal(t, lcm.Validator{Version: d.Version, Updated: d.Updated}, v)
	o, err := b.OperationDocument(t.Context(), op.ID)
	require.NoError(t, err)
	v, err = b.OperationValidator(t.Context(), op.ID)
	require.NoError(t, err)
	require.Equal(t, lcm.Validator{Version: o.Version, Updated: o.Updated}, v)
	for _, id := range []string{"x", strings.Repeat("0", 36), "00000000-0000-0000-0000-000000000000"} {
		_, err = b.InstanceValidator(t.Context(), id)
		requireCode(t, lcm.CodeNotFound, err)
		_, err = b.OperationValidator(t.Context(), id)
		requireCode(t, lcm.CodeNotFound, err)
		_, err = b.InstanceDocument(t.Context(), id)
		requireCode(t, lcm.CodeNotFound, err)
	}
}
