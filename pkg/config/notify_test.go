package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
)

func TestNotifySettingsAreChecked(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.DatabaseURL = "postgres://gybe@127.0.0.1/gybe"
	require.NoError(t, c.Validate())
	c.Notify.Duplicates, c.Notify.RetryFor, c.Notify.RetryBase = "ignore", time.Second, time.Hour
	c.Notify.Subscribers, c.Notify.Concurrency, c.Notify.Subscriptions = 0, 0, 0
	c.Notify.Timeout, c.Notify.Keep, c.Notify.CertFile = 0, 0, "cert.pem"
	err := c.Validate()
	for _, key := range []string{
		"duplicates", "retry_for", "retry_base", "subscribers", "concurrency", "subscriptions", "timeout", "keep",
		"key_file",
	} {
		require.ErrorContains(t, err, "notify."+key+":")
	}
	c.Notify = config.Default().Notify
	c.Notify.CertFile, c.Notify.KeyFile = "/nowhere/cert.pem", "/nowhere/key.pem"
	require.ErrorContains(t, c.Validate(), "notify.cert_file:")
}
