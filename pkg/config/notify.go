package config

import (
	"crypto/tls"
	"time"
)

// Notify tunes subscriptions and the delivery of notifications.
type Notify struct {
	// TestCallback sends a GET to the callback before a subscription is stored; anything but 204 rejects it.
	TestCallback bool `yaml:"test_callback" env:"TEST_CALLBACK"`
	// Duplicates says what a request for a subscription with the same callback and filter as an existing one gets:
	// create (201 and one more) or redirect (303 and the existing one).
	Duplicates string `yaml:"duplicates" env:"DUPLICATES"`
	// Subscriptions bounds the subscriptions of a project.
	Subscriptions int `yaml:"subscriptions" env:"SUBSCRIPTIONS"`
	// RetryFor is how long a notification is sent until it becomes a dead letter.
	RetryFor time.Duration `yaml:"retry_for" env:"RETRY_FOR"`
	// RetryBase and RetryMax bound the time between attempts, which doubles with each failure of the subscriber.
	RetryBase time.Duration `yaml:"retry_base" env:"RETRY_BASE"`
	RetryMax  time.Duration `yaml:"retry_max" env:"RETRY_MAX"`
	// Timeout bounds one request to a subscriber or a token endpoint, with the answer.
	Timeout time.Duration `yaml:"timeout" env:"TIMEOUT"`
	// Subscribers is how many subscribers this node sends to at the same time. As many again may be slow or fail.
	Subscribers int `yaml:"subscribers" env:"SUBSCRIBERS"`
	// Concurrency is how many requests a subscriber gets at the same time.
	Concurrency int `yaml:"concurrency" env:"CONCURRENCY"`
	// Keep is the time that records of delivered notifications are kept. Those of others are always kept.
	Keep time.Duration `yaml:"keep" env:"KEEP"`
	// CertFile and KeyFile are the client certificate that this node shows to subscribers with TLS_CERT or
	// OAUTH2_CLIENT_CERT, in PEM. CAFile has the authorities that subscribers' certificates are checked with; empty
	// means those of the system. A change of the files is noticed.
	CertFile string `yaml:"cert_file" env:"CERT_FILE"`
	KeyFile  string `yaml:"key_file" env:"KEY_FILE"`
	CAFile   string `yaml:"ca_file" env:"CA_FILE"`
}

// Values of Notify.Duplicates.
const (
	DuplicatesCreate   = "create"
	DuplicatesRedirect = "redirect"
)

func defaultNotify() Notify {
	return Notify{
		TestCallback: true, Duplicates: DuplicatesCreate, Subscriptions: 10_000, RetryFor: 24 * time.Hour,
		RetryBase: time.Second, RetryMax: 5 * time.Minute, Timeout: 10 * time.Second, Subscribers: 64, Concurrency: 4,
		Keep: 7 * 24 * time.Hour,
	}
}

func (c *Config) validateNotify(report report) {
	n := c.Notify
	checkOneOf(report, "notify.duplicates", n.Duplicates, DuplicatesCreate, DuplicatesRedirect)
	if n.RetryBase > n.RetryMax {
		report("notify.retry_base", "is longer than notify.retry_max")
	}
	switch {
	case n.CertFile == "" && n.KeyFile == "":
	case n.CertFile == "":
		report("notify.cert_file", "is not set, but notify.key_file is")
	case n.KeyFile == "":
		report("notify.key_file", "is not set, but notify.cert_file is")
	default:
		if _, err := tls.LoadX509KeyPair(n.CertFile, n.KeyFile); err != nil {
			report("notify.cert_file", "%w", err)
		}
	}
}
