package config

import (
	"time"
)

// Config is the whole configuration of a node.
type Config struct {
	// DatabaseURL is the connection string of PostgreSQL, a URL or key=value pairs. It may hold a password.
	DatabaseURL string `yaml:"database_url" env:"DATABASE_URL"`
	// Listen is the host:port of the API; port 0 takes a free one.
	Listen string `yaml:"listen" env:"LISTEN"`
	// PublicURL is the URL by which clients reach the API, with the prefix of a reverse proxy if there is one. Every
	// Location and _links starts with it. Empty means the address of Listen.
	PublicURL string `yaml:"public_url" env:"PUBLIC_URL"`
	// Hosts are further names in the Host header of requests, e.g. of a proxy or of a Kubernetes service. IP addresses,
	// the host of PublicURL, that of Listen and the name of this machine need not be listed. *.example.org stands for
	// all names below example.org, and * for every name.
	Hosts []string `yaml:"hosts" env:"HOSTS"`
	// DebugListen is the loopback host:port of /metrics and pprof; empty disables them.
	DebugListen string `yaml:"debug_listen" env:"DEBUG_LISTEN"`
	// DataDir is the directory of the content store. All nodes of one database need the same content.
	DataDir string `yaml:"data_dir" env:"DATA_DIR"`
	// NodeID names this node among those of the database; empty means host name and a random part.
	NodeID string `yaml:"node_id" env:"NODE_ID"`

	Log       Log       `yaml:"log" envPrefix:"LOG_"`
	TLS       TLS       `yaml:"tls" envPrefix:"TLS_"`
	Auth      Auth      `yaml:"auth" envPrefix:"AUTH_"`
	Database  Database  `yaml:"database" envPrefix:"DATABASE_"`
	Engine    Engine    `yaml:"engine" envPrefix:"ENGINE_"`
	Deadlines Deadlines `yaml:"deadlines" envPrefix:"DEADLINES_"`
	Limits    Limits    `yaml:"limits" envPrefix:"LIMITS_"`
	Secrets   Secrets   `yaml:"secrets" envPrefix:"SECRETS_"`
	Grant     Grant     `yaml:"grant" envPrefix:"GRANT_"`
	NFVO      NFVO      `yaml:"nfvo" envPrefix:"NFVO_"`
	OpenStack OpenStack `yaml:"openstack" envPrefix:"OPENSTACK_"`
	SSH       SSH       `yaml:"ssh" envPrefix:"SSH_"`
	Scripts   Scripts   `yaml:"scripts" envPrefix:"SCRIPTS_"`
	Ansible   Ansible   `yaml:"ansible" envPrefix:"ANSIBLE_"`
	Outbound  Outbound  `yaml:"outbound" envPrefix:"OUTBOUND_"`
	Packages  Packages  `yaml:"packages" envPrefix:"PACKAGES_"`
	Notify    Notify    `yaml:"notify" envPrefix:"NOTIFY_"`
}

// Log configures logging.
type Log struct {
	Level  string `yaml:"level" env:"LEVEL"`   // debug, info, warn or error
	Format string `yaml:"format" env:"FORMAT"` // text or json
}

// TLS holds the server certificate of the API; both empty means plain HTTP.
type TLS struct {
	CertFile string `yaml:"cert_file" env:"CERT_FILE"`
	KeyFile  string `yaml:"key_file" env:"KEY_FILE"`
}

// Database tunes the use of the database.
type Database struct {
	// MaxConns bounds the connections of this node; 0 means four for each CPU, between 8 and 20.
	MaxConns int `yaml:"max_conns" env:"MAX_CONNS"`
	// KeepEvents is the time that the event feed, with the output of steps, and the notifications of the outbox are
	// kept.
	KeepEvents time.Duration `yaml:"keep_events" env:"KEEP_EVENTS"`
	// KeepOperations is the time that ended operations are kept with their phases and steps; 0 keeps them for ever. The
	// newest 20 of an instance that exists are always kept.
	KeepOperations time.Duration `yaml:"keep_operations" env:"KEEP_OPERATIONS"`
	// KeepAudit is the time that the audit trail is kept.
	KeepAudit time.Duration `yaml:"keep_audit" env:"KEEP_AUDIT"`
}

// Engine tunes the work on operations; a zero means the default of the engine.
type Engine struct {
	MaxWorkers int `yaml:"max_workers" env:"MAX_WORKERS"` // ticks at the same time on this node
	// MaxPerVim is how many of these ticks may work on operations of one VIM, with one login; 0 means a quarter of
	// max_workers.
	MaxPerVim int `yaml:"max_per_vim" env:"MAX_PER_VIM"`
	// MaxPerProject is how many of them may work on operations of one project; 0 means three quarters of max_workers.
	MaxPerProject int `yaml:"max_per_project" env:"MAX_PER_PROJECT"`

	TickBudget time.Duration `yaml:"tick_budget" env:"TICK_BUDGET"` // longest time of one tick
	InlineWait time.Duration `yaml:"inline_wait" env:"INLINE_WAIT"` // waits up to this stay in the tick
	RetryBase  time.Duration `yaml:"retry_base" env:"RETRY_BASE"`   // first backoff of a transient failure
	RetryMax   time.Duration `yaml:"retry_max" env:"RETRY_MAX"`     // longest backoff
	// consecutive transient failures before a phase fails
	Retries int `yaml:"retries" env:"RETRIES"`
}

// Deadlines limit the duration of operations.
type Deadlines struct {
	Default     time.Duration `yaml:"default" env:"DEFAULT"`
	Instantiate time.Duration `yaml:"instantiate" env:"INSTANTIATE"` // 0 = default
	Terminate   time.Duration `yaml:"terminate" env:"TERMINATE"`     // 0 = default
}

// Limits limit requests, responses and the memory of a node.
type Limits struct {
	// Requests is the number of requests that one user may send to a node in a second; 0 = no limit. A request above
	// it is answered with 429 and Retry-After. A node without authentication counts those of an address.
	Requests int `yaml:"requests" env:"REQUESTS"`

	Body Size `yaml:"body" env:"BODY"` // a request body that is not a package
	// BodyValues is the number of JSON values in a request body: objects, arrays, texts, numbers, true, false, null.
	BodyValues int `yaml:"body_values" env:"BODY_VALUES"`
	// Bodies is the memory of the request bodies that a node reads and handles at the same time, beyond the first
	// 32 KiB of each; these have as much again. A request above it is answered with 503 and Retry-After.
	Bodies Size `yaml:"bodies" env:"BODIES"`
	// Answers is the same for the answers that clients have not read yet.
	Answers Size `yaml:"answers" env:"ANSWERS"`
	// Attribute is the size of an attribute with names chosen by clients, such as metadata, extensions,
	// vnfConfigurableProperties or userDefinedData, also after a PATCH. Each value counts 32 bytes and its text.
	Attribute Size `yaml:"attribute" env:"ATTRIBUTE"`
	// Params is the size of additionalParams, and of all VIM connections of a VNF instance together.
	Params          Size `yaml:"params" env:"PARAMS"`
	PackageSize     Size `yaml:"package_size" env:"PACKAGE_SIZE"`         // a package archive
	PackageUnpacked Size `yaml:"package_unpacked" env:"PACKAGE_UNPACKED"` // all files of a package together
	PackageFiles    int  `yaml:"package_files" env:"PACKAGE_FILES"`       // number of files in a package
	// DownloadTime bounds the download of a package from another server, with all its attempts.
	DownloadTime time.Duration `yaml:"download_time" env:"DOWNLOAD_TIME"`
	// FreeSpace is the disk space of data_dir that packages leave free; 0 = packages may use all.
	FreeSpace Size `yaml:"free_space" env:"FREE_SPACE"`
	PageSize  int  `yaml:"page_size" env:"PAGE_SIZE"`   // elements of a list per page
	PageBytes Size `yaml:"page_bytes" env:"PAGE_BYTES"` // bytes after which a page ends
	Header    Size `yaml:"header" env:"HEADER"`         // all request headers together
	// followers of the event feed at the same time
	EventStreams int `yaml:"event_streams" env:"EVENT_STREAMS"`
	// pages of the console that are followed at the same time
	ConsoleStreams int `yaml:"console_streams" env:"CONSOLE_STREAMS"`
	// Connections is the number of connections of clients. A new one closes the one that has been idle for longest;
	// when all are in use it is answered with 503.
	Connections int `yaml:"connections" env:"CONNECTIONS"`
	// Memory is the soft limit of the Go runtime, at which it collects garbage more often; 0 is 90 % of the limit of
	// the control group, if there is one. The environment variable GOMEMLIMIT takes precedence.
	Memory Size `yaml:"memory" env:"MEMORY"`
	// Quota bounds what each project can have.
	Quota Quota `yaml:"quota" envPrefix:"QUOTA_"`
}

// Secrets locates the keys that encrypt credentials in the database.
type Secrets struct {
	// KeyFile holds the key ring; all nodes of one database need the same. Empty means secret.key in
	// data_dir, which is created at the first start.
	KeyFile string `yaml:"key_file" env:"KEY_FILE"`
}

// Grant tunes the local grantor, which grants operations without an NFVO.
type Grant struct {
	Zones []string `yaml:"zones" env:"ZONES"` // availability zones for VNFCs; empty = the VIM decides
}

// OpenStack tunes the OpenStack driver.
type OpenStack struct {
	StackTimeout time.Duration `yaml:"stack_timeout" env:"STACK_TIMEOUT"` // sent to Heat with a stack
	// of one call with its response, except uploads
	RequestTimeout time.Duration `yaml:"request_timeout" env:"REQUEST_TIMEOUT"`
	// AwayFirst is how long a VIM that does not answer is left alone after the first failure. The time doubles with
	// every further failure, up to AwayLongest.
	AwayFirst   time.Duration `yaml:"away_first" env:"AWAY_FIRST"`
	AwayLongest time.Duration `yaml:"away_longest" env:"AWAY_LONGEST"`
	// CancelPatience is how long a FORCEFUL cancel waits for a VIM that does not answer any request, counted from its
	// last answer.
	CancelPatience time.Duration `yaml:"cancel_patience" env:"CANCEL_PATIENCE"`
	// for Nova to start, stop or delete a server
	ServerTimeout time.Duration `yaml:"server_timeout" env:"SERVER_TIMEOUT"`
	// GracefulTimeout is the wait before a GRACEFUL termination that names none.
	GracefulTimeout time.Duration `yaml:"graceful_timeout" env:"GRACEFUL_TIMEOUT"`
	// ZoneRetries is how often an operation selects other zones of grant.zones when a zone has no room:
	// 0 = as often as there are zones, -1 = never.
	ZoneRetries int `yaml:"zone_retries" env:"ZONE_RETRIES"`
	// NoRoom is a regular expression for the error texts of Heat and Nova which mean that a zone has no room. Empty
	// means their usual texts.
	NoRoom string `yaml:"no_room" env:"NO_ROOM"`
	// CloudsFile is a clouds.yaml on this node, with an optional secure.yaml beside it. VIM connections may then name a
	// cloud of it (accessInfo.cloud) instead of credentials, so every client that may set a VIM connection may use its
	// clouds. Empty allows none.
	CloudsFile string `yaml:"clouds_file" env:"CLOUDS_FILE"`
}

// SSH tunes the access to nodes.
type SSH struct {
	Port           int           `yaml:"port" env:"PORT"`
	ConnectTimeout time.Duration `yaml:"connect_timeout" env:"CONNECT_TIMEOUT"`
	// of one short command; long work runs detached
	CommandTimeout time.Duration `yaml:"command_timeout" env:"COMMAND_TIMEOUT"`
	HostKeyPolicy  string        `yaml:"host_key_policy" env:"HOST_KEY_POLICY"` // pin or insecure
}

// Values of SSH.HostKeyPolicy.
const (
	HostKeyPin      = "pin"      // the first key of a VNFC is kept, another one later is an error
	HostKeyInsecure = "insecure" // any key is accepted
)

// Values of Scripts.Sandbox.
const (
	SandboxBwrap = "bwrap" // bubblewrap
	SandboxNone  = "none"  // no confinement
)

// Values of Scripts.Network.
const (
	NetworkNone = "none" // scripts reach nothing
	NetworkHost = "host" // scripts reach what the node reaches
)

// Scripts configures Python scripts of packages on this node. All nodes of one database need the same values.
type Scripts struct {
	// Python is the path or name of the interpreter. Empty means that scripts are not run.
	Python string `yaml:"python" env:"PYTHON"`
	// Sandbox is bwrap, or none: then scripts have all rights of the user that they run as.
	Sandbox string `yaml:"sandbox" env:"SANDBOX"`
	// Network is none, or host: then scripts reach everything that the node reaches, with the services on its
	// localhost: this API, the metrics and profiles of debug_listen, and PostgreSQL. Without a sandbox it has to be
	// host.
	Network string `yaml:"network" env:"NETWORK"`
}

// Ansible configures playbooks of packages on this node. All nodes of one database need the same values.
type Ansible struct {
	// Playbook is the path or name of ansible-playbook, as scripts see it. Empty means that playbooks are not run. It
	// needs Scripts.Python: playbooks run in the sandbox and with the network of scripts.
	Playbook string `yaml:"playbook" env:"PLAYBOOK"`
}

// Default returns the default configuration of a node.
func Default() Config {
	return Config{
		Listen:      "127.0.0.1:9890",
		DebugListen: "127.0.0.1:9891",
		DataDir:     "/var/lib/gybe",
		Log:         Log{Level: "info", Format: "text"},
		Auth:        defaultAuth(),
		Database: Database{
			KeepEvents: 14 * 24 * time.Hour, KeepAudit: 90 * 24 * time.Hour, KeepOperations: 90 * 24 * time.Hour,
		},
		Engine: Engine{
			MaxWorkers: 400, TickBudget: 45 * time.Second, InlineWait: 2 * time.Second,
			RetryBase: 500 * time.Millisecond, RetryMax: 30 * time.Second, Retries: 8,
		},
		Deadlines: Deadlines{Default: 2 * time.Hour},
		Limits: Limits{
			Requests: 1000,
			Body:     MiB, BodyValues: 20_000, Bodies: 64 * MiB, Answers: 128 * MiB,
			Attribute: 64 * KiB, Params: 256 * KiB,
			PackageSize: 64 * GiB, PackageUnpacked: 128 * GiB, PackageFiles: 50_000, FreeSpace: GiB,
			DownloadTime: 6 * time.Hour,
			PageSize:     200, PageBytes: 8 * MiB, Header: 64 * KiB, EventStreams: 1000, ConsoleStreams: 100,
			Connections: 2000,
			Quota: Quota{
				Instances: 10_000, ActiveOperations: 2000, Packages: 1000, PackageBytes: 1024 * GiB,
				Snapshots: 1000, Projects: []string{},
			},
		},
		NFVO: defaultNFVO(),
		OpenStack: OpenStack{
			CancelPatience: 2 * time.Second, AwayFirst: 5 * time.Second, AwayLongest: time.Minute,
			StackTimeout: 30 * time.Minute, RequestTimeout: time.Minute, ServerTimeout: 5 * time.Minute,
			GracefulTimeout: 10 * time.Second,
		},
		SSH: SSH{
			Port: 22, ConnectTimeout: 10 * time.Second, CommandTimeout: time.Minute, HostKeyPolicy: HostKeyPin,
		},
		Scripts:  Scripts{Sandbox: SandboxBwrap, Network: NetworkNone},
		Outbound: Outbound{Loopback: LoopbackAuto, Allow: []string{}, Deny: []string{}},
		Packages: Packages{Signatures: SignaturesWarn, TrustFiles: []string{}},
		Notify:   defaultNotify(),
	}
}
