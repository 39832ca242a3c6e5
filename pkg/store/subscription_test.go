package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/lifecycle"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
)

func (b *bundle) subscriptions() notify.Records {
	return b.Subscriptions(lcm.Principal{Project: b.Project()})
}

func (b *bundle) ledger() *store.Deliveries { return &store.Deliveries{Store: b.Store} }

// subscribe stores a subscription with a filter.
func (b *bundle) subscribe(tb testing.TB, filter string) *notify.Subscription {
	tb.Helper()
	s := newSubscription(tb, filter)
	_, err := b.insert(tb, s, false, 1_000_000)
	require.NoError(tb, err)
	return s
}

func newSubscription(tb testing.TB, filter string) *notify.Subscription {
	tb.Helper()
	s := &notify.Subscription{
		ID: uuid.NewString(), API: lifecycle.API.Name, Version: "2.0.0", Created: now(), Callback: "http://192.0.2.1/",
		Verbosity: sol.VerbosityFull,
	}
	if filter != "" {
		s.Filter = json.RawMessage(filter)
	}
	var err error
	s.Conditions, err = lifecycle.API.Parse(s.Filter)
	require.NoError(tb, err)
	return s
}

func (b *bundle) insert(tb testing.TB, s *notify.Subscription, same bool, limit int) (string, error) {
	tb.Helper()
	keys, many := s.Conditions.Keys(s.API)
	require.Empty(tb, many)
	return b.subscriptions().Insert(tb.Context(), s, keys, same, limit)
}

func (b *bundle) fanOut(tb testing.TB) {
	tb.Helper()
	for {
		n, err := b.ledger().FanOut(tb.Context(), 100, time.Hour)
		require.NoError(tb, err)
		if n == 0 {
			return
		}
	}
}

// deliveries lists what a subscription got, as the state or the first letter of the type.
func (b *bundle) deliveries(tb testing.TB, id string) string {
	tb.Helper()
	var out string
	require.NoError(tb, b.pool.QueryRow(tb.Context(), `SELECT coalesce(string_agg(coalesce(m.operation_state,
		substring(m.kind FROM 14 FOR 8)), ' ' ORDER BY d.seq), '') FROM delivery d JOIN outbox m ON m.id = d.message_id
		WHERE d.subscription_id = $1`, id).Scan(&out))
	return out
}

// TestFanOutMatchesEveryAttributeOfAFilter: an instance is created, an operation of it starts and completes, and it is
// deleted.
func TestFanOutMatchesEveryAttributeOfAFilter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.newInstance(t)
	_, err := b.pool.Exec(t.Context(), "DELETE FROM outbox")
	require.NoError(t, err)
	const created, deleted = "Creation", "Deletion"
	all := created + " STARTING COMPLETED " + deleted
	of := func(filter string) string { return `{"vnfInstanceSubscriptionFilter":` + filter + `}` }
	product := func(rest string) string {
		return of(`{"vnfProductsFromProviders":[{"vnfProvider":"no"},{"vnfProvider":"P"` + rest + `}]}`)
	}
	wants := map[string]string{
		"": all, `{}`: all, of(`{}`): all, `{"notificationTypes":[]}`: all,
		of(`{"vnfInstanceIds":["` + i.ID + `"]}`):          all,
		of(`{"vnfInstanceIds":["x","` + i.ID + `","y"]}`):  all,
		of(`{"vnfInstanceIds":["x"]}`):                     "",
		of(`{"vnfInstanceNames":["k8s"]}`):                 all,
		of(`{"vnfInstanceNames":["K8S"]}`):                 "",
		of(`{"vnfdIds":["` + i.VnfdID + `"]}`):             all,
		of(`{"vnfdIds":["other"]}`):                        "",
		product(``):                                        all,
		product(`,"vnfProducts":[{"vnfProductName":"N"}]`): all,
		product(`,"vnfProducts":[{"vnfProductName":"M"}]`): "",
		product(`,"vnfProducts":[{"vnfProductName":"N","versions":[{"vnfSoftwareVersion":"1.0"}]}]`):                        all,
		product(`,"vnfProducts":[{"vnfProductName":"N","versions":[{"vnfSoftwareVersion":"1.1"}]}]`):                        "",
		product(`,"vnfProducts":[{"vnfProductName":"N","versions":[{"vnfSoftwareVersion":"1.0","vnfdVersions":["2.0"]}]}]`): all,
		product(`,"vnfProducts":[{"vnfProductName":"N","versions":[{"vnfSoftwareVersion":"1.0","vnfdVersions":["1.0"]}]}]`): "",
		of(`{"vnfdIds":["` + i.VnfdID + `"],"vnfInstanceNames":["other"]}`):                                                 "",
		of(`{"vnfdIds":["other"],"vnfInstanceNames":["k8s"]}`):                                                              "",
		of(`{"vnfdIds":["` + i.VnfdID + `"],"vnfInstanceNames":["k8s"]}`):                                                   all,
		`{"notificationTypes":["VnfIdentifierCreationNotification"]}`:                                                       created,
		`{"notificationTypes":["VnfIdentifierDeletionNotification"]}`:                                                       deleted,
		`{"notificationTypes":["VnfLcmOperationOccurrenceNotification"]}`:                                                   "STARTING COMPLETED",
		`{"operationTypes":["INSTANTIATE"]}`:                                                                                "STARTING COMPLETED",
		`{"operationTypes":["SCALE","HEAL"]}`:                                                                               "",
		`{"operationStates":["COMPLETED","FAILED"]}`:                                                                        "COMPLETED",
		`{"operationTypes":["INSTANTIATE"],"operationStates":["STARTING"]}`:                                                 "STARTING",
		`{"operationTypes":["SCALE"],"operationStates":["STARTING"]}`:                                                       "",
		`{"notificationTypes":["VnfLcmOperationOccurrenceNotification","VnfIdentifierDeletionNotification"],` +
			`"operationStates":["COMPLETED"]}`: "COMPLETED Deletion",
		`{"operationStates":["STARTING"],"vnfInstanceSubscriptionFilter":{"vnfInstanceIds":["` + i.ID + `"]}}`: "STARTING",
		`{"operationStates":["STARTING"],"vnfInstanceSubscriptionFilter":{"vnfInstanceIds":["x"]}}`:            "",
	}
	ids := map[string]string{}
	for filter := range wants {
		ids[filter] = b.subscribe(t, filter).ID
	}
	foreign := b.of("foreign").subscribe(t, "")

	b.lifecycle(t, i)
	b.fanOut(t)
	for filter, want := range wants {
		require.Equal(t, want, b.deliveries(t, ids[filter]), filter)
	}
	require.Empty(t, b.deliveries(t, foreign.ID), "of another project")
}

// lifecycle adds four messages of an instance: creation, start and end of an operation, deletion.
func (b *bundle) lifecycle(tb testing.TB, i *lcm.Instance) {
	tb.Helper()
	_, err := b.pool.Exec(tb.Context(), `INSERT INTO outbox (id, kind, instance_id, time, body, vnfd_id, provider,
			product_name, software_version, vnfd_version, instance_name, operation, operation_state, op_id, project)
		SELECT gen_random_uuid(), k, $1, now(), '{}', $2, 'P', 'N', '1.0', '2.0', $3, o, s,
			CASE WHEN o IS NOT NULL THEN $4::uuid END, $5
		FROM (VALUES ('VnfIdentifierCreationNotification', NULL, NULL),
			('VnfLcmOperationOccurrenceNotification', 'INSTANTIATE', 'STARTING'),
			('VnfLcmOperationOccurrenceNotification', 'INSTANTIATE', 'COMPLETED'),
			('VnfIdentifierDeletionNotification', NULL, NULL)) v (k, o, s)`,
		i.ID, i.VnfdID, i.Name, uuid.NewString(), b.Project())
	require.NoError(tb, err)
}

// TestFanOutLooksAtFewSubscriptions reads the rows that the plan reads: their number does not depend on how many
// subscriptions there are that do not match. The plan is kept from a time with one subscription.
func TestFanOutLooksAtFewSubscriptions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.newInstance(t)
	b.fanOut(t)
	want := b.subscribe(t, `{"vnfInstanceSubscriptionFilter":{"vnfInstanceIds":["`+i.ID+`"]}}`)
	conn, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = b.pool.Exec(t.Context(), "ANALYZE subscription, subscription_key, subscriber, delivery, outbox")
	require.NoError(t, err)
	_, err = b.ledger().ExplainFanOut(t.Context(), conn.Conn())
	require.NoError(t, err)
	var wg sync.WaitGroup
	for part := range 4 {
		wg.Go(func() {
			for n := range 250 {
				b.subscribe(t, fmt.Sprintf(
					`{"vnfInstanceSubscriptionFilter":{"vnfdIds":["%s"]},"operationTypes":["HEAL"],"operationStates":["FAILED"]}`,
					[]string{i.VnfdID, "other-" + fmt.Sprint(part, n)}[n%2]))
			}
		})
	}
	wg.Wait()
	b.lifecycle(t, i)
	plan, err := b.ledger().ExplainFanOut(t.Context(), conn.Conn())
	require.NoError(t, err)
	read := rowsRead(t, plan, "subscription", "subscription_key")
	require.Positive(t, read)
	require.LessOrEqual(t, read, 4*2*3, "four messages, two tables, one row for each and some that do not match")
	b.fanOut(t)
	require.Equal(t, "Creation STARTING COMPLETED Deletion", b.deliveries(t, want.ID))
}

// TestClaimsLookAtFewSubscribers: a claim reads the subscribers that are due.
func TestClaimsLookAtFewSubscribers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.subscribe(t, "")
	b.newInstance(t)
	b.fanOut(t)
	_, err := b.pool.Exec(t.Context(), `WITH s AS (INSERT INTO subscription (id, created, updated, callback, verbosity)
			SELECT gen_random_uuid(), now(), now(), 'http://192.0.2.1/', 'FULL' FROM generate_series(1, 10000)
			RETURNING id)
		INSERT INTO subscriber (subscription_id) SELECT id FROM s`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), "ANALYZE subscription, subscriber, node")
	require.NoError(t, err)
	conn, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	plan, err := b.ledger().ExplainClaim(t.Context(), conn.Conn())
	require.NoError(t, err)
	read := rowsRead(t, plan, "subscription", "subscriber")
	require.Positive(t, read)
	require.LessOrEqual(t, read, 4, "the subscriber, its update, and its subscription")
}

// rowsRead adds up the rows that the nodes of a plan have read from tables.
func rowsRead(tb testing.TB, plan string, tables ...string) int {
	tb.Helper()
	type node struct {
		Relation string  `json:"Relation Name"`
		Rows     float64 `json:"Actual Rows"`
		Removed  float64 `json:"Rows Removed by Filter"`
		Loops    float64 `json:"Actual Loops"`
		Plans    []node
	}
	var explained []struct{ Plan node }
	require.NoError(tb, json.Unmarshal([]byte(plan), &explained))
	var sum func(n node) float64
	sum = func(n node) (rows float64) {
		if slices.Contains(tables, n.Relation) {
			rows = (n.Rows + n.Removed) * n.Loops
		}
		for _, p := range n.Plans {
			rows += sum(p)
		}
		return rows
	}
	return int(sum(explained[0].Plan))
}

// TestASubscriptionGetsNothingFromBeforeIt: messages that were committed before are not for it, those that were
// committed later are, also if they were written before.
func TestASubscriptionGetsNothingFromBeforeIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.newInstance(t)
	_, err := b.pool.Exec(t.Context(), "DELETE FROM outbox")
	require.NoError(t, err)
	b.lifecycle(t, i)

	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `INSERT INTO outbox (id, kind, instance_id, time, body, project, operation_state)
		VALUES (gen_random_uuid(), 'VnfLcmOperationOccurrenceNotification', $1, now(), '{}', 'default', 'open')`, i.ID)
	require.NoError(t, err)
	s := b.subscribe(t, "")
	require.NoError(t, tx.Commit(t.Context()))

	b.fanOut(t)
	require.Equal(t, "open", b.deliveries(t, s.ID))
	b.lifecycle(t, i)
	b.fanOut(t)
	require.Equal(t, "open Creation STARTING COMPLETED Deletion", b.deliveries(t, s.ID))
}

// TestRestoredSubscriptionsGetNewMessages: a database was restored into a cluster with lower transaction ids.
func TestRestoredSubscriptionsGetNewMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := b.subscribe(t, "")
	_, err := b.pool.Exec(t.Context(), "UPDATE subscription SET since = '900000000000:900000000000:'")
	require.NoError(t, err)
	again := on(t, b.pool, b.ring)
	again.newInstance(t)
	again.fanOut(t)
	require.NotEmpty(t, again.deliveries(t, s.ID))
}

// TestFanOutOnManyNodes makes one delivery for each message and subscription, in order.
func TestFanOutOnManyNodes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := b.subscribe(t, "")
	i := b.newInstance(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				b.lifecycle(t, i)
				if _, err := b.ledger().FanOut(t.Context(), 7, time.Hour); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.fanOut(t)
	require.Equal(t, 321, b.count(t, "SELECT count(*) FROM delivery WHERE subscription_id = $1", s.ID))
	require.Equal(t, 321, b.count(t, "SELECT count(DISTINCT message_id) FROM delivery"))
}

// TestSubscriptionsHideTheirCredentials: they are sealed, and only the delivering side opens them.
func TestSubscriptionsHideTheirCredentials(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := newSubscription(t, "")
	s.Auth = &sol.SubscriptionAuthentication{
		AuthType:    []sol.AuthType{sol.AuthTypeBasic},
		ParamsBasic: &sol.ParamsBasic{UserName: "u", Password: password},
	}
	_, err := b.insert(t, s, false, 10)
	require.NoError(t, err)
	require.Zero(t, b.count(t, "SELECT count(*) FROM subscription s WHERE s::text LIKE '%' || $1 || '%' OR "+
		"encode(auth, 'escape') LIKE '%' || $1 || '%'", password))
	got, err := b.subscriptions().Get(t.Context(), s.API, s.ID)
	require.NoError(t, err)
	require.Nil(t, got.Auth)

	b.newInstance(t)
	b.fanOut(t)
	claims, err := b.ledger().ClaimSubscribers(t.Context(), "n", false, 10, time.Minute)
	require.NoError(t, err)
	require.Len(t, claims, 1)
	require.Equal(t, s.Auth, claims[0].Subscription.Auth)
}

func TestSubscriptionsOfAProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.of("other")
	first := b.subscribe(t, `{"operationTypes":["HEAL","SCALE"]}`)
	same := newSubscription(t, `{"operationTypes":["SCALE","HEAL"],"vnfInstanceSubscriptionFilter":{}}`)
	existing, err := b.insert(t, same, true, 10)
	require.NoError(t, err)
	require.Equal(t, first.ID, existing, "the filter means the same")
	existing, err = other.insert(t, same, true, 10)
	require.NoError(t, err)
	require.Empty(t, existing)
	_, err = b.insert(t, newSubscription(t, ""), true, 1)
	requireCode(t, lcm.CodeForbidden, err)

	list, err := b.subscriptions().List(t.Context(), first.API, "", 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	_, err = other.subscriptions().Get(t.Context(), first.API, first.ID)
	requireCode(t, lcm.CodeNotFound, err)
	_, err = other.subscriptions().Status(t.Context(), first.ID)
	requireCode(t, lcm.CodeNotFound, err)
	_, err = other.subscriptions().Deliveries(t.Context(), first.ID, notify.DeliveryQuery{Limit: 1})
	requireCode(t, lcm.CodeNotFound, err)
	_, err = other.subscriptions().Replay(t.Context(), first.ID, notify.Replay{Since: now()}, time.Hour)
	requireCode(t, lcm.CodeNotFound, err)
	requireCode(t, lcm.CodeNotFound, other.subscriptions().Delete(t.Context(), first.API, first.ID))
	b.newInstance(t)
	require.NoError(t, b.subscriptions().Delete(t.Context(), first.API, first.ID))
	requireCode(t, lcm.CodeNotFound, b.subscriptions().Delete(t.Context(), first.API, first.ID))
	b.fanOut(t)
	require.Zero(t, b.count(t, "SELECT count(*) FROM delivery"))
}

// TestKeysOfAFilterAreBounded: values that do not fit are checked on the subscriptions that the keys find, and a filter
// that names too many resources is rejected.
func TestKeysOfAFilterAreBounded(t *testing.T) {
	t.Parallel()
	ids := func(n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("%q", fmt.Sprint("i-", i)))
		}
		return strings.Join(out, ",")
	}
	filter := newSubscription(t, `{"operationTypes":["SCALE","HEAL","OPERATE","TERMINATE"],"operationStates":["COMPLETED",
		"FAILED"],"vnfInstanceSubscriptionFilter":{"vnfInstanceIds":[`+ids(300)+`]}}`)
	keys, many := filter.Conditions.Keys("vnflcm")
	require.Empty(t, many)
	require.Len(t, keys, 300)
	message := notify.Attributes{
		notify.AttrType: {lcm.KindOperation}, notify.AttrInstance: {"i-7"}, notify.AttrOperation: {"SCALE"},
		notify.AttrState: {"COMPLETED"},
	}
	found := func(k uuid.UUID) bool { return slices.Contains(keys, k) }
	require.True(t, slices.ContainsFunc(message.Keys("vnflcm"), found))
	_, many = newSubscription(t, `{"vnfInstanceSubscriptionFilter":{"vnfInstanceIds":[`+ids(2000)+`]}}`).
		Conditions.Keys("vnflcm")
	require.Equal(t, notify.AttrInstance, many)
}
