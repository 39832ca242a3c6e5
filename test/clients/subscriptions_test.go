package clients_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/oracle"
)

// TestSubscriptions makes, shows, lists and deletes subscriptions, in both versions, and asks for the versions.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	w := start(t)
	subscriber := httptest.NewServer(oracle.Subscriber(t, nil))
	t.Cleanup(subscriber.Close)
	filter := obj{"notificationTypes": []any{"VnfIdentifierCreationNotification"}}
	w.write("nothing.json", obj{"filter": filter})
	for _, f := range []form{version1, version2} {
		callback := subscriber.URL + "/" + f.version
		w.write("subscription.json", obj{"callbackUri": callback, "filter": filter})
		table := w.run("vnflcm subsc create subscription.json" + f.option)
		require.Subset(t, columns(table), []string{"Field", "Callback URI", "Filter", "ID", "Links"})
		w.refused("vnflcm subsc create nothing.json"+f.option, "callbackUri")
		all := w.list("vnflcm subsc list" + f.option)
		require.Len(t, all, 1)
		require.Equal(t, callback, all[0]["Callback URI"])
		id := text(t, all[0], "ID")
		shown := w.show("vnflcm subsc show " + id + f.option)
		require.Equal(t, callback, shown["Callback URI"])
		require.Equal(t, filter, shown["Filter"])
		require.Contains(t, shown, "Links")
		w.refused("vnflcm subsc list --filter nonsense"+f.option, "an expression looks like (eq,attribute,value)")
		w.refused("vnflcm subsc show nonsense"+f.option, "nonsense")
		require.Equal(t, "Lccn Subscription '"+id+"' is deleted successfully",
			w.run("vnflcm subsc delete "+id+f.option))
		w.refused("vnflcm subsc delete "+id+f.option, id)
		require.Contains(t, w.run("vnflcm versions"+f.option), "isDeprecated")
	}
}
