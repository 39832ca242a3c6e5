package simcloud

import (
	"log/slog"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/simcloud/nova"
	"github.com/gybe-nfv/gybe/test/simcloud/timing"
)

// The names, secrets and ids that every cloud starts with.
const (
	Region   = "RegionOne"
	Domain   = "Default"
	Project  = "nfv"
	Username = "nfv_user"
	Password = "devstack"
	// Net0 is the shared tenant network and Public the external one.
	Net0   = "net0"
	Public = "public"
	// OtherProject and OtherUsername (same password) are a second tenant without the role admin.
	OtherProject  = "nfv2"
	OtherUsername = "nfv2_user"

	net0ID    = "bbc012e1-6619-4fe6-aaac-0668a4974313"
	subnet0ID = "1c8d1f2d-5e45-427f-920e-1b49f6978985"
	publicID  = "89e36da8-4652-4454-be91-fb54223c4674"
	publicSub = "063e9703-25a8-4496-a423-0d94a9637d71"
)

type (
	// Fault is a rule of what goes wrong.
	Fault = fault.Rule
	// Timing says how long things take.
	Timing = timing.Table
	// Duration is a duration in JSON.
	Duration = timing.Duration
	// Host is a compute host.
	Host = nova.Host
)

// Options are what a cloud starts with. The zero value is a cloud with instant services and servers without inside.
type Options struct {
	// Addr is where the services listen; default 127.0.0.1 with a free port.
	Addr string
	// TLS serves https with a certificate of an authority of the cloud's own, Cloud.CA.
	TLS bool
	// Region is the region that the services are in; default RegionOne.
	Region string
	// Home is a cloud whose identity service this one shares: it becomes another region of that one, with servers,
	// networks, images and stacks of its own, and the same projects, users and tokens. Close it before its home.
	Home *Cloud
	// PublicURL is the root of the URLs in catalog and links, without a trailing slash; default http://<addr>. Set it
	// to put something between client and cloud.
	PublicURL string
	// Machines plays the inside of the servers; default nothing does. If it is an http.Handler too, it is served at
	// /sim/fleet/. The caller closes it after the cloud.
	Machines Machines
	// Block is the loopback network; default one is reserved. A given one is closed by the caller.
	Block *Block
	// Hosts are the compute hosts; default cmp1 to cmp8 in zone nova.
	Hosts []Host
	// TokenTTL is how long tokens are valid; default one hour.
	TokenTTL time.Duration
	// Timing is how long things take; default no time.
	Timing Timing
	// HeatMinute is how long a minute of a stack's timeout_mins, or of the waits of Heat's test resource, lasts;
	// default one minute.
	HeatMinute time.Duration
	// HeatRetry is the unit of the pauses between the attempts of Heat at what a service has refused for a conflict, or
	// what has gone to ERROR: 2, 4, 8, 16 and 32 of it; a real Heat takes a second. Default no pause.
	HeatRetry time.Duration
	// HeatRPCTimeout is how long Heat's API waits for an engine that does not run before it answers 500; default one
	// minute.
	HeatRPCTimeout time.Duration
	// LargeNetworks gives net0 and public 16,000 addresses each instead of 250, for load tests.
	LargeNetworks bool
	// Images are names of images that exist from the start, besides the usual ones.
	Images []string
	// Logger receives what an operator of the cloud would see; default nothing.
	Logger *slog.Logger
}

func (o *Options) defaults() {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.Region == "" {
		o.Region = Region
	}
	if o.TokenTTL == 0 {
		o.TokenTTL = time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.HeatMinute == 0 {
		o.HeatMinute = time.Minute
	}
	if len(o.Hosts) == 0 {
		for _, n := range []string{"cmp1", "cmp2", "cmp3", "cmp4", "cmp5", "cmp6", "cmp7", "cmp8"} {
			o.Hosts = append(o.Hosts, Host{Name: n, Zone: "nova"})
		}
	}
}
