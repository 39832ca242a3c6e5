package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// Target is a machine with the credentials for the login.
type Target struct {
	Instance string // id of the VNF instance
	VNFC     string // id of the VNFC the machine belongs to; users can choose it, so it is unique in the instance only
	Host     string // IP address
	Port     int    // 0 means 22
	User     string
	Password string // used for password and keyboard-interactive authentication
	// PrivateKey is a PEM or OpenSSH private key; it is tried before the password.
	PrivateKey []byte
}

// machine names the machine among those of all instances.
func (t Target) machine() Machine { return Machine{t.Instance, t.VNFC} }

// String is user@host:port; never a secret.
func (t Target) String() string { return t.User + "@" + t.addr() }

func (t Target) addr() string {
	port := t.Port
	if port == 0 {
		port = 22
	}
	return net.JoinHostPort(t.Host, strconv.Itoa(port))
}

func (t Target) same(o Target) bool {
	return t.String() == o.String() && t.machine() == o.machine() && t.Password == o.Password &&
		string(t.PrivateKey) == string(o.PrivateKey)
}

// Options apply to all connections. The zero values of the durations mean the defaults.
type Options struct {
	HostKeys HostKeyStore // required
	// ConnectTimeout bounds TCP connect and SSH handshake together; 15 s.
	ConnectTimeout time.Duration
	// KeepAlive is the interval of keep-alive requests; a connection that leaves one unanswered for as long again is
	// closed; 15 s.
	KeepAlive time.Duration
	// DialContext replaces net.Dialer.DialContext.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
}

func (o Options) withDefaults() Options {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 15 * time.Second
	}
	if o.KeepAlive <= 0 {
		o.KeepAlive = 15 * time.Second
	}
	if o.DialContext == nil {
		o.DialContext = (&net.Dialer{}).DialContext
	}
	return o
}

// Client is one SSH connection. Its methods may be called at the same time.
type Client struct {
	target Target
	conn   *ssh.Client
	done   chan struct{}
	once   sync.Once
}

// Dial connects and logs in. When ctx ends it returns the context's cause; other errors are *Error of KindRefused,
// KindTimeout, KindUnreachable, KindClosed, KindAuth, KindHostKey or KindProtocol.
func Dial(ctx context.Context, t Target, o Options) (*Client, error) {
	o = o.withDefaults()
	fail := func(err error) error { return &Error{Kind: classify(err), Op: "connect", Target: t.String(), Err: err} }
	auth, err := authMethods(t)
	if err != nil {
		return nil, &Error{Kind: KindAuth, Op: "connect", Target: t.String(), Err: err}
	}
	pinned, err := o.HostKeys.Lookup(ctx, t.machine())
	if err != nil {
		return nil, fmt.Errorf("look up the host key of %s: %w", t.VNFC, err)
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	v := &verifier{ctx: ctx, store: o.HostKeys, machine: t.machine(), pinned: pinned}
	cfg := &ssh.ClientConfig{User: t.User, Auth: auth, HostKeyCallback: v.check}
	if pinned != nil {
		cfg.HostKeyAlgorithms = algorithmsOf(pinned.Type)
	}
	conn, err := handshake(ctx, t, o, cfg)
	if err != nil && caller.Err() != nil {
		return nil, context.Cause(caller)
	}
	if err != nil {
		if changed := explainKeyMismatch(ctx, t, o, v, err); changed != nil {
			err = changed
		}
		return nil, fail(err)
	}
	c := &Client{target: t, conn: conn, done: make(chan struct{})}
	go func() {
		_ = conn.Wait()
		close(c.done)
	}()
	go c.keepAlive(o.KeepAlive)
	return c, nil
}

func handshake(ctx context.Context, t Target, o Options, cfg *ssh.ClientConfig) (*ssh.Client, error) {
	raw, err := o.DialContext(ctx, "tcp", t.addr())
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	conn, chans, reqs, err := ssh.NewClientConn(raw, t.addr(), cfg)
	if !stop() && err == nil {
		_ = conn.Close()
		err = ctx.Err()
	}
	if err != nil {
		_ = raw.Close()
		if ctx.Err() != nil { // the socket is closed because ctx has ended
			err = errors.Join(ctx.Err(), err)
		}
		return nil, err
	}
	return ssh.NewClient(conn, chans, reqs), nil
}

// explainKeyMismatch explains a failed negotiation: with a pinned key only its type is offered, so a machine without
// such a key fails. A second handshake, which ends as soon as the key is received, returns the current key.
func explainKeyMismatch(ctx context.Context, t Target, o Options, v *verifier, err error) error {
	if _, ok := errors.AsType[*ssh.AlgorithmNegotiationError](err); !ok || v.pinned == nil {
		return nil
	}
	var seen *HostKey
	cfg := &ssh.ClientConfig{User: t.User, HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
		seen = &HostKey{Type: key.Type(), Key: key.Marshal()}
		return errPeek
	}}
	if conn, err := handshake(ctx, t, o, cfg); err == nil {
		_ = conn.Close()
	}
	if seen == nil {
		return nil
	}
	return &HostKeyError{VNFC: v.machine.VNFC, Pinned: v.pinned.Fingerprint(), Seen: seen.Fingerprint()}
}

func authMethods(t Target) ([]ssh.AuthMethod, error) {
	var auth []ssh.AuthMethod
	if len(t.PrivateKey) > 0 {
		signer, err := ssh.ParsePrivateKey(t.PrivateKey)
		if err != nil {
			return nil, errors.New("the private key cannot be read") // the parser's text may quote the key
		}
		auth = append(auth, ssh.PublicKeys(signer))
	}
	if t.Password != "" {
		auth = append(auth, ssh.Password(t.Password), ssh.KeyboardInteractive(
			func(_, _ string, questions []string, _ []bool) ([]string, error) {
				answers := make([]string, len(questions))
				for i := range answers {
					answers[i] = t.Password
				}
				return answers, nil
			},
		))
	}
	if len(auth) == 0 {
		return nil, errors.New("neither a password nor a private key was given")
	}
	return auth, nil
}

// keepAlive closes a connection whose other end no longer answers.
func (c *Client) keepAlive(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-ticker.C:
		}
		answered := make(chan struct{})
		go func() {
			_, _, err := c.conn.SendRequest("keepalive@openssh.com", true, nil)
			if err == nil {
				close(answered)
			}
		}()
		timer := time.NewTimer(every)
		select {
		case <-answered:
			timer.Stop()
		case <-c.done:
			timer.Stop()
			return
		case <-timer.C:
			_ = c.Close()
			return
		}
	}
}

// Target returns the target of the connection.
func (c *Client) Target() Target { return c.target }

// Done is closed when the connection has ended for any reason.
func (c *Client) Done() <-chan struct{} { return c.done }

// Close ends the connection and everything that uses it; jobs on the machine continue.
func (c *Client) Close() error {
	var err error
	c.once.Do(func() { err = c.conn.Close() })
	return err
}

// DialContext opens a TCP connection from the machine, to addresses that only the machine can reach.
func (c *Client) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.conn.DialContext(ctx, network, addr)
	if err != nil {
		return nil, c.wrapError("connect to "+addr, err)
	}
	return conn, nil
}

// wrapError wraps err for this connection; after the connection is lost, that loss is the reason of all failures.
func (c *Client) wrapError(op string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	kind := classify(err)
	select {
	case <-c.done:
		kind = KindClosed
	default:
	}
	return &Error{Kind: kind, Op: op, Target: c.target.String(), Err: err}
}
