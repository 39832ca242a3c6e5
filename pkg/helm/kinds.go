package helm

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

const (
	// kindsAge is how long it is known which kinds an API server serves.
	kindsAge = 5 * time.Minute
	// kindsFresh is how old the answers may be for templates, which can ask for kinds, and for a kind that is not in
	// them. It bounds how often an API server is asked.
	kindsFresh = time.Second
)

// kinds are the version of an API server and the kinds that it serves. Sessions of one connection share them, as there
// are some dozens of answers on a real cluster and each tick needs them. It is safe for concurrent use.
type kinds struct {
	discovery.CachedDiscoveryInterface
	mapper *restmapper.DeferredDiscoveryRESTMapper
	now    func() time.Time

	mu      sync.Mutex
	asked   time.Time // the answers are from this time or later
	version *version.Info
}

func newKinds(cfg *rest.Config, now func() time.Time) (*kinds, error) {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	k := &kinds{CachedDiscoveryInterface: memory.NewMemCacheClient(client), now: now, asked: now()}
	k.mapper = restmapper.NewDeferredDiscoveryRESTMapper(k)
	return k, nil
}

// notOlder forgets answers that are older than age.
func (k *kinds) notOlder(age time.Duration) {
	k.mu.Lock()
	old := k.now().Sub(k.asked) > age
	if old {
		k.asked = k.now() // calls at the same time ask once
	}
	k.mu.Unlock()
	if old {
		k.mapper.Reset()
	}
}

// Fresh implements discovery.CachedDiscoveryInterface: without it a kind that is not in the answers is asked for again.
func (k *kinds) Fresh() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now().Sub(k.asked) <= kindsFresh
}

// Invalidate implements discovery.CachedDiscoveryInterface. Helm calls it when it has installed definitions of kinds.
func (k *kinds) Invalidate() {
	k.mu.Lock()
	k.asked, k.version = k.now(), nil
	k.mu.Unlock()
	k.CachedDiscoveryInterface.Invalidate()
}

// ServerVersion implements discovery.ServerVersionInterface.
func (k *kinds) ServerVersion() (*version.Info, error) {
	k.mu.Lock()
	v := k.version
	k.mu.Unlock()
	if v != nil {
		return v, nil
	}
	v, err := k.CachedDiscoveryInterface.ServerVersion()
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.version = v
	return v, nil
}
