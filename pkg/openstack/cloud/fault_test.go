package cloud

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// TestAnswers: the class decides whether an operation is tried again, the words are all that its owner has.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		header http.Header
		body   string
		class  lcm.Class
		code   lcm.Code
		title  string
		words  string
		hint   string
		after  time.Duration
	}{
		"heat refuses a template": {
			status: 400, class: lcm.Permanent, code: lcm.CodeUpstream, title: "VIM refused the request",
			body:  `{"explanation": "The server could not comply.", "code": 400, "error": {"message": "Property error: : resources.VDU1.properties.image: : Error validating value 'x': No images matching {'name': 'x'}.", "traceback": null, "type": "StackValidationFailed"}, "title": "Bad Request"}`,
			words: "No images matching {'name': 'x'}.", hint: "upload the image",
		},
		"heat finds two images": {
			status: 400, class: lcm.Permanent, code: lcm.CodeUpstream, title: "VIM refused the request",
			body:  `{"explanation": "The server could not comply.", "code": 400, "error": {"message": "Property error: : resources.VDU1.properties.image: : Error validating value 'x': No images unique match found for {'name': 'x'}.", "traceback": null, "type": "StackValidationFailed"}, "title": "Bad Request"}`,
			words: "No images unique match found", hint: "several images that the project sees have this name",
		},
		"nova quota": {
			status: 403, class: lcm.Quota, code: lcm.CodeUpstream, title: "VIM quota exceeded",
			body: `{"forbidden": {"code": 403, "message": "Quota exceeded for cores: Requested 4, but already used 20 of 20 cores"}}`, words: "Quota exceeded for cores", hint: "quota",
		},
		"neutron quota": {
			status: 409, class: lcm.Quota, code: lcm.CodeUpstream, title: "VIM quota exceeded",
			body: `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['port'].", "detail": ""}}`, words: "['port']", hint: "quota",
		},
		"cinder over limit": {
			status: 413, class: lcm.Quota, code: lcm.CodeUpstream, title: "VIM quota exceeded",
			body: `{"overLimit": {"code": 413, "message": "VolumeSizeExceedsAvailableQuota"}}`, words: "VolumeSize",
			hint: "quota",
		},
		"stack limit": {
			status: 403, class: lcm.Quota, code: lcm.CodeUpstream, title: "VIM quota exceeded",
			body: `{"code": 403, "error": {"message": "You have reached the maximum stacks per tenant, 100. Please delete some stacks.", "type": "RequestLimitExceeded"}}`, words: "maximum stacks", hint: "quota",
		},
		"forbidden": {
			status: 403, class: lcm.Permanent, code: lcm.CodeUpstream, title: "VIM denied access",
			body: `{"error": {"message": "You are not authorized to use create."}}`, words: "not authorized",
			hint: "role",
		},
		"not found": {
			status: 404, class: lcm.Permanent, code: lcm.CodeUpstream, title: "VIM resource not found",
			body: `{"itemNotFound": {"code": 404, "message": "Instance x could not be found."}}`, words: "Instance x",
		},
		"address in use": {status: 409, class: lcm.Permanent, code: lcm.CodeUpstream, title: "VIM conflict", body: `{"NeutronError": {"type": "IpAddressInUse", "message": "IP address 10.0.0.5 is in use.", "detail": ""}}`, words: "10.0.0.5", hint: "another fixed address"},
		"too many": {
			status: 429, header: http.Header{"Retry-After": {"7"}}, class: lcm.Transient,
			code: lcm.CodeUnavailable, title: "VIM is busy", after: 7 * time.Second,
		},
		"unavailable": {
			status: 503, header: http.Header{"Retry-After": {"soon"}}, class: lcm.Transient,
			code: lcm.CodeUnavailable, title: "VIM is failing", body: "plain text",
			words: "no OpenStack error document (text/plain, 10 bytes)",
		},
		"internal error": {
			status: 500, class: lcm.Transient, code: lcm.CodeUnavailable, title: "VIM is failing",
			body:  `{"computeFault": {"message": "Unexpected API Error. <class 'oslo_db.exception.DBError'>"}}`,
			words: "Unexpected API Error.",
		},
		"not implemented": {
			status: 501, class: lcm.Permanent, code: lcm.CodeUpstream, title: "VIM refused the request",
		},
		"proxy": {
			status: 502, header: http.Header{"Content-Type": {"text/html"}}, class: lcm.Transient,
			code: lcm.CodeUnavailable, title: "VIM is failing",
			body: "<html><head><title>502 Bad Gateway</title><style>p {}</style></head><body><h1>Bad &amp; " +
				"ugly</h1><script>alert()</script></body></html>",
			words: "502 Bad Gateway: no OpenStack error document (text/html, 135 bytes)",
		},
		"glance": {
			status: 409, class: lcm.Permanent, code: lcm.CodeUpstream, title: "VIM conflict",
			body: `{"message": "Image status transition from queued to queued is not allowed<br /><br />\n\n\n", "code": "409 Conflict", "title": "Conflict"}`, words: "is not allowed",
		},
		"glance in HTML": {
			status: 409, class: lcm.Permanent, code: lcm.CodeUpstream, title: "VIM conflict",
			body: "<html>\n <head>\n  <title>409 Conflict</title>\n </head>\n <body>\n  <h1>409 Conflict</h1>\n" +
				"  Image is &#x27;in use&#x27;.<br /><br />\n\n\n </body>\n</html>",
			words: "no OpenStack error document (text/html, 147 bytes)",
		},
		"an endless body": {
			status: 500, class: lcm.Transient, code: lcm.CodeUnavailable, title: "VIM is failing",
			body: strings.Repeat("é", 100_000), words: "no OpenStack error document (text/plain, at least 65536 bytes)",
		},
		"an endless message": {
			status: 500, class: lcm.Transient, code: lcm.CodeUnavailable, title: "VIM is failing",
			body: `{"error": {"message": "` + strings.Repeat("é", 20_000) + `"}}`, words: "…",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stubcloud.New(t)
			s.Routes.HandleFunc("/heat/v1/p1/stacks", func(w http.ResponseWriter, _ *http.Request) {
				maps.Copy(w.Header(), tt.header)
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			})
			c, err := testPool(t, Config{}).Connect(t.Context(), "v", s.Vim())
			require.NoError(t, err)
			e := asError(t, ping(t.Context(), c))
			require.Equal(t, tt.class, e.Class)
			require.Equal(t, tt.code, e.Code)
			require.Equal(t, tt.title, e.Title)
			require.Contains(t, e.Detail, fmt.Sprintf("look for stack x: Heat at %s/heat/v1/p1/stacks answered %d %s",
				s.URL, tt.status, http.StatusText(tt.status)))
			require.Contains(t, e.Detail, tt.words)
			require.Less(t, len(e.Detail), 1300)
			require.Contains(t, e.Hint, tt.hint)
			require.Equal(t, tt.after, e.RetryAfter)
		})
	}
}

// TestNoAnswer: a VIM that is away, and one that is not there at all.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	closed, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	broken := stubcloud.New(t)
	broken.Login = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	garbage := stubcloud.New(t)
	garbage.Login = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"token": nonsense`))
	}
	for name, tt := range map[string]struct {
		endpoint string
		class    lcm.Class
		detail   string
	}{
		"refused": {"http://" + closed.Addr().String() + "/identity", lcm.Transient, "refuses connections"},
		"no name": {
			"http://no-such-host.invalid/identity", lcm.Permanent, "cannot be resolved: no-such-host.invalid",
		},
		"broken":    {broken.URL + "/identity", lcm.Transient, "broke the connection off"},
		"nonsense":  {garbage.URL + "/identity", lcm.Transient, "cannot be read"},
		"not there": {stubcloud.New(t).URL + "/elsewhere", lcm.Permanent, "answered 404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := testPool(t, Config{}).Connect(t.Context(), "v", stubcloud.VimAt(tt.endpoint))
			e := asError(t, err)
			require.Contains(t, e.Detail, tt.detail)
			require.Contains(t, e.Detail, "log in as nfv_user: Keystone at "+tt.endpoint)
			require.Equal(t, tt.class, e.Class)
			stubcloud.SecretFree(t, e.Error()+e.Hint)
		})
	}
}

// TestInterrupted: the end of a tick is not the VIM's fault and must not count as a failure.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	entered := make(chan struct{})
	s.Routes.HandleFunc("/heat/v1/p1/stacks", func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	})
	c, err := testPool(t, Config{}).Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-entered
		cancel(lcm.ErrTickBudget)
	}()
	err = ping(ctx, c)
	_, _, waiting := lcm.Waiting(ctx, err)
	require.True(t, waiting, "%v", err)
}

// TestSilence: a service that takes the call and says nothing.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	s.Routes.HandleFunc("/heat/v1/p1/stacks", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	pool := testPool(t, Config{Timeout: 100 * time.Millisecond})
	var c *Client
	require.Eventually(t, func() bool { // on a busy machine, a login also takes longer than that
		var err error
		c, err = pool.Connect(t.Context(), "v", s.Vim())
		return err == nil
	}, time.Minute, time.Millisecond)
	e := asError(t, ping(t.Context(), c))
	require.Equal(t, lcm.CodeTimeout, e.Code)
	require.Equal(t, lcm.Transient, e.Class)
	require.Contains(t, e.Detail, "look for stack x: Heat at "+s.URL+"/heat/v1/p1/stacks did not answer in time")
}

func TestHints(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`Went to status ERROR due to "Message: No valid host was found. There are not enough hosts available., Code: 500"`: "no compute host",
		"Error validating value 'm1.none': The Flavor (m1.none) could not be " +
			"found.": "create the flavour",
		"The Image (x) could not be found.":                                    "upload the image",
		"Unable to find network with name or id 'net9'":                        "network",
		"Port 1234 is still in use.":                                           "port belongs to another server",
		"IP address 10.0.0.4 already allocated in subnet s":                    "another port has this address",
		"No more IP addresses available on network n.":                         "no free address",
		"The requested availability zone is not available":                     "zone does not exist",
		"CREATE aborted (Timed out)":                                           "longer than the stack's timeout",
		"Request limit exceeded: Template size (600000 bytes) exceeds maximum": "max_template_size",
		"Quota exceeded for instances: Requested 1, but already used 10 of 10": "raise the project's quota",

		// Without a hint.
		"an unknown error": "",

		// As a real Heat says it.
		`Resource CREATE failed: ResourceInError: resources.VDU-0.resources.VDU: Went to status ERROR due to "Message: No valid host was found. , Code: 500"`:                                                       "no compute host",
		`Went to status ERROR due to "Message: Exceeded maximum number of retries. Exceeded max scheduling attempts 3 for instance i. Last exception: Anti-affinity instance group policy was violated, Code: 500"`: "no compute host",
		"Resource CREATE failed: BadRequest: resources.VDU: The requested availability zone is not available (HTTP " +
			"400) (Request-ID: req-1)": "zone does not exist",
		"resources.VDU-0: Property error: resources.VDU.properties.flavor: Error validating value 'nope': No Flavor " +
			"matching {'name': 'nope'}. (HTTP 404)": "create the flavour",
		"resources.VDU.properties.image: Error validating value 'nope': No images matching {'name': " +
			"'nope'}.": "upload the image",
		"resources.CP.properties.network: Error validating value 'nope': Unable to find network with name or id " +
			"'nope'": "network ids of extVirtualLinks",
		"Property error: : resources.p.properties.fixed_ips[0].subnet: : Error validating value 'nope': Unable to " +
			"find subnet with name or id 'nope'": "network ids of extVirtualLinks",
		"resources.v.properties.networks[0].port: : Error validating value '1111': Unable to find port with name or " +
			"id '1111'": "link ports",
		"resources.w.properties.volume_type: : Error validating value 'nope': The VolumeType (nope) could not be " +
			"found.": "volume type",
		"resources.v.properties.key_name: : Error validating value 'nope': The Key (nope) could not be " +
			"found.": "key pair",
		"InvalidIpForNetworkClient: resources.p: IP address 192.0.2.9 is not a valid IP for any of the subnets on " +
			"the specified network.": "outside the network's subnets",
		"BadRequest: resources.f: Bad floatingip request: Network 038a is not a valid external " +
			"network.": "external network",
		"IpAddressAlreadyAllocatedClient: resources.p: IP address 10.10.0.183 already allocated in subnet " +
			"43af": "another port has this address",
		"MacAddressInUseClient: resources.p: Unable to complete operation for network 038a. The mac address " +
			"fa:16:3e:dd:35:6a is in use.": "MAC address",
		"Conflict: resources.w: Port 1782 is still in use. (HTTP 409) (Request-ID: " +
			"req-33e6)": "port belongs to another server",
		"Forbidden: resources.v: The number of defined ports: 3 is over the limit: 1 (HTTP 403) (Request-ID: " +
			"req-c5e0)": "raise the project's quota",
		"OverQuotaClient: resources.p: Quota exceeded for resources: ['port'].": "raise the project's quota",
		"OverLimit: resources.w: VolumeLimitExceeded: Maximum number of volumes allowed (0) exceeded for quota " +
			"'volumes'. (HTTP 413)": "raise the project's quota",
		"BadRequest: resources.VDU: Invalid volume: Invalid input received: Invalid volume: Volume v status must be " +
			"available or downloading to reserve, but the current status is in-use. (HTTP " +
			"400)": "not in a state for this",
		"InterfaceDetachFailed: resources.VDU: Failed to detach interface (p) from server " +
			"(s)": "does not change its interfaces",
		"Timed out": "longer than the stack's timeout",
		"CREATE aborted (Task create from TemplateResource \"VDU-0\" Stack \"c-i\" [1] Timed out)": "longer than the " +
			"stack's timeout",
		"Stack UPDATE cancelled": "the action was cancelled",
		"The request you have made requires authentication. (HTTP " +
			"401)": "did not accept the credentials",
		"MessagingTimeout: resources.VDU: Timed out waiting for a reply to message ID 1": "did not answer another one",
	} {
		got := Hint(text)
		require.Contains(t, got, want, text)
		require.Equal(t, want == "", got == "", text)
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	looks, last := 0, time.Duration(0)
	for at := time.Duration(0); at < 10*time.Minute; at += Pace(at) {
		require.GreaterOrEqual(t, Pace(at), last, "never faster again")
		last = Pace(at)
		looks++
	}
	require.Less(t, looks, 220, "ten minutes cost the VIM no more than this")
	require.Equal(t, 5*time.Millisecond, Pace(0))
	require.Equal(t, 5*time.Millisecond, Pace(-time.Hour), "a clock that was set back")
}
