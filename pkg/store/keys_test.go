package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// everything is all data of all tables as text, as a thief of the database's files would see it.
func (b *bundle) everything(t *testing.T) string {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(tables), 10)
	dump := ""
	for _, table := range tables {
		// bytea as its bytes, not as hex, or a password in clear would not be found.
		rows, err := b.pool.Query(t.Context(), "SELECT to_jsonb(x)::text FROM "+table+" x")
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		for _, l := range lines {
			dump += l + "\n"
		}
	}
	for _, c := range []string{
		"SELECT encode(vim_connections, 'escape') FROM vnf_instance",
		"SELECT encode(attributes, 'escape') FROM vnf_instance",
		"SELECT encode(params, 'escape') FROM vnf_lcm_op_occ",
		"SELECT encode(changed_info, 'escape') FROM vnf_lcm_op_occ",
		"SELECT encode(before, 'escape') FROM vnf_lcm_op_occ",
		"SELECT encode(modifications, 'escape') FROM vnf_lcm_op_occ",
		"SELECT encode(params, 'escape') FROM vnf_instance", "SELECT encode(former_vims, 'escape') FROM vnf_instance",
		"SELECT encode(rendered_params, 'escape') FROM vnf_lcm_op_occ",
		"SELECT encode(rendered_details, 'escape') FROM vnf_lcm_op_occ",
		"SELECT encode(rendered_details, 'escape') FROM vnf_instance",
		"SELECT encode(connection, 'escape') FROM vim",
	} {
		rows, err := b.pool.Query(t.Context(), c)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[*string])
		require.NoError(t, err)
		require.NotEmpty(t, lines, c)
		for _, l := range lines {
			require.NotNil(t, l, c)
			dump += *l + "\n"
		}
	}
	return dump
}

func (b *bundle) fillWithSecrets(t *testing.T) *lcm.Operation {
	t.Helper()
	_, op := b.change(t, "")
	c, cl := b.claim(t, op.ID, "n")
	c.Op.ChangedInfo = &sol.VnfInfoModifications{VimConnectionInfo: map[string]sol.VimConnectionInfo{"v": connection()}}
	c.Op.Modifications = &sol.ModificationsTriggeredByVnfPkgChange{Extensions: sol.KeyValuePairs{"login": password}}
	c.Instance.VimConnections = map[string]sol.VimConnectionInfo{"vim1": connection()}
	c.Instance.Metadata = `{"login":"` + password + `"}`
	c.Instance.Extensions, c.Instance.ConfigurableProperties = c.Instance.Metadata, c.Instance.Metadata
	require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{
		Op: c.Op, Instance: c.Instance, Effects: lcm.Effects{RegisterVims: []lcm.Vim{newVim("v")}},
	}))
	return op
}

func TestNoPasswordIsReadableInTheDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fillWithSecrets(t)
	dump := b.everything(t)
	require.Contains(t, dump, "ETSINFV.OPENSTACK_KEYSTONE.V_3", "the dump shows what is not sealed")
	require.NotContains(t, dump, password)
	require.NotContains(t, dump, "nfv_user")
}

func TestANodeWithAnotherKeyFileDoesNotStart(t *testing.T) {
	t.Parallel()
	key := secret.Generate()
	b := on(t, devpg.New(t), newRing(t, key))
	on(t, b.pool, newRing(t, key)) // the same key again

	_, err := store.New(t.Context(), b.pool, newRing(t, secret.Generate()), nil, quiet)
	require.ErrorContains(t, err, b.ring.Primary())
	require.ErrorContains(t, err, "lacks")
	sameID := b.ring.Primary() + secret.Generate()[len(b.ring.Primary()):]
	_, err = store.New(t.Context(), b.pool, newRing(t, sameID), nil, quiet)
	require.ErrorContains(t, err, "another key under the id")
}

func TestKeysCanBeRotatedWithoutLosingAnything(t *testing.T) {
	t.Parallel()
	old, next := secret.Generate(), secret.Generate()
	b := on(t, devpg.New(t), newRing(t, old))
	op := b.fillWithSecrets(t)

	b.raw = true // the old key alone cannot read the rows
	both := on(t, b.pool, newRing(t, next, old))
	before, err := both.KeyUses(t.Context())
	require.NoError(t, err)
	require.ErrorContains(t, both.ForgetKey(t.Context(), b.ring.Primary()), "are sealed with the key")
	reported := 0
	n, err := both.Reencrypt(t.Context(), func(store.Progress) { reported++ })
	require.NoError(t, err)
	require.Equal(t, 12, n)
	require.Positive(t, reported)
	n, err = both.Reencrypt(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, n)
	after, err := both.KeyUses(t.Context())
	require.NoError(t, err)
	require.Len(t, after, len(before))
	for i, u := range after {
		require.Equal(t, both.ring.Primary(), u.Key)
		require.Equal(t, before[i].Values, u.Values)
		require.Equal(t, b.ring.Primary(), before[i].Key)
	}
	require.ErrorContains(t, both.ForgetKey(t.Context(), both.ring.Primary()), "seals")
	require.NoError(t, both.ForgetKey(t.Context(), b.ring.Primary()))

	only := on(t, b.pool, newRing(t, next))
	got, err := only.Operation(t.Context(), op.ID)
	require.NoError(t, err)
	require.JSONEq(t, string(op.Params), string(got.Params))
	require.Equal(t, password, got.ChangedInfo.VimConnectionInfo["v"].AccessInfo["password"])
	c, _ := only.claim(t, op.ID, "n")
	require.Equal(t, password, c.Op.Before.VimConnections["vim1"].AccessInfo["password"])
	require.Equal(t, password, c.Op.Modifications.Extensions["login"])
	require.Equal(t, password, c.Instance.PreviousVims["old"].AccessInfo["password"])
	require.JSONEq(t, `{"password":"`+password+`"}`, string(c.Instance.Params.Member("k8s")))
	vims, err := only.Vims(t.Context())
	require.NoError(t, err)
	require.Equal(t, password, vims[0].Connection.AccessInfo["password"])
	_, err = store.New(t.Context(), b.pool, newRing(t, old), nil, quiet)
	require.Error(t, err, "the old key alone is no longer enough")
}

// A node that was started before the keys were rotated, without their file, must not fail operations.
func TestAValueOfAnUnknownKeyIsAReasonToWait(t *testing.T) {
	t.Parallel()
	old, next := secret.Generate(), secret.Generate()
	b := on(t, devpg.New(t), newRing(t, old))
	op := b.fillWithSecrets(t)
	b.raw = true
	both := on(t, b.pool, newRing(t, next, old))
	_, err := both.Reencrypt(t.Context(), nil)
	require.NoError(t, err)
	_, err = b.Operation(t.Context(), op.ID)
	e := lcm.AsError(err)
	require.Equal(t, lcm.CodeUnavailable, e.Code)
	require.Equal(t, lcm.Transient, e.Class)
	require.ErrorContains(t, err, both.ring.Primary())
	require.Contains(t, e.Hint, "key file")
}

// Attributes that a node of the release before has written are read, and sealed by Reencrypt.
func TestReencryptSealsAttributesOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.raw = true // the rows are changed by hand
	i := b.newInstance(t)
	_, err := b.pool.Exec(t.Context(), `UPDATE vnf_instance SET metadata = '{"a": 1, "b": 2}', attributes = NULL,
			version = version + 1
		WHERE id = $1`, i.ID)
	require.NoError(t, err)
	read, err := b.Instance(t.Context(), i.ID)
	require.NoError(t, err)
	require.Equal(t, sol.RawPairs(`{"a":1,"b":2}`), read.Metadata)

	n, err := b.Reencrypt(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	var plain *string
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT metadata::text FROM vnf_instance").Scan(&plain))
	require.Nil(t, plain)
	again, err := b.Instance(t.Context(), i.ID)
	require.NoError(t, err)
	require.Equal(t, read.Metadata, again.Metadata)

	_, err = b.pool.Exec(t.Context(), `UPDATE vnf_instance SET metadata = '{"b": 3}', version = version + 1`)
	require.NoError(t, err)
	again, err = b.Instance(t.Context(), i.ID)
	require.NoError(t, err)
	require.Equal(t, sol.RawPairs(`{"a":1,"b":3}`), again.Metadata,
		"a node of the release before has written b")
}
