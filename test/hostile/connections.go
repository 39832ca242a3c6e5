package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// hold opens connections, sends a text on each, keeps them for a time and closes them. Answers are counted.
func (b *battle) hold(ctx context.Context, kind string, count int, keep time.Duration, text string) {
	var d net.Dialer
	var open []net.Conn
	for range count {
		c, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(b.url, "http://"))
		if err != nil {
			b.count(kind, "refused")
			break
		}
		open = append(open, c)
		if _, err := io.WriteString(c, text); err != nil {
			b.count(kind, "closed")
		}
	}
	wait(ctx, keep)
	for _, c := range open {
		b.count(kind, b.glance(c))
		_ = c.Close() // the attack is over
	}
}

// glance reads the status of an answer that is there already.
func (b *battle) glance(c net.Conn) string {
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		return "closed"
	}
	line, err := bufio.NewReader(io.LimitReader(c, 256)).ReadString('\n')
	if fields := strings.Fields(line); len(fields) > 1 {
		return fields[1]
	}
	if e, ok := err.(net.Error); ok && e.Timeout() { //nolint:errorlint // a read of a connection returns it as it is
		return "waiting"
	}
	return "closed"
}

// login is a header, or nothing for a stranger.
func (b *battle) login(n int) string {
	if n%4 == 0 {
		return ""
	}
	return "\r\nAuthorization: Bearer " + b.token
}

// announceBodies announces large bodies and sends one byte of each.
func (b *battle) announceBodies(ctx context.Context, kind string, n int) {
	b.hold(ctx, kind, 500, 4*time.Second, "POST /vnflcm/v2/vnf_instances HTTP/1.1\r\nHost: "+b.host()+b.login(n)+
		"\r\nVersion: 2.0.0\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{")
}

// halfHeaders never ends its headers.
func (b *battle) halfHeaders(ctx context.Context, kind string, _ int) {
	b.hold(ctx, kind, 200, 12*time.Second, "GET /vnflcm/v2/vnf_instances HTTP/1.1\r\nHost: "+b.host()+"\r\nX-A: ")
}

// idleConnections sends nothing.
func (b *battle) idleConnections(ctx context.Context, kind string, _ int) {
	b.hold(ctx, kind, 300, 5*time.Second, "")
}

func (b *battle) host() string { return strings.TrimPrefix(b.url, "http://") }

// garbled are requests that are not HTTP, or not quite. HOST stands for the host of the node.
var garbled = []string{
	"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	"GET / HTTP/9.9\r\nHost: HOST\r\n\r\n",
	"GET /ui/assets/x/%ff HTTP/1.1\r\nHost: HOST\r\n\r\n",
	"GET /ui/assets/x/%c0%ae%c0%ae/ HTTP/1.1\r\nHost: HOST\r\n\r\n",
	"POST /vnflcm/v2/vnf_instances HTTP/1.1\r\nHost: HOST\r\nContent-Length: -1\r\n\r\n",
	"POST /vnflcm/v2/vnf_instances HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
	"POST /v1.0/vims HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n" +
		"ZZ\r\n",
	"POST /v1.0/vims HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n" +
		"ffffffffffffffff\r\n{",
	"GET /healthz HTTP/1.1\r\nHost: HOST\r\nX-Long: " + strings.Repeat("x", 100_000) + "\r\n\r\n",
	"GET /" + strings.Repeat("a/", 20_000) + " HTTP/1.1\r\nHost: HOST\r\n\r\n",
	"GET /healthz HTTP/1.1\r\n\r\n",
	"\x00\x00\x00\x00",
	strings.Repeat("\r\n", 1000),
}

// garbledConnection sends something that is not HTTP.
func (b *battle) garbledConnection(ctx context.Context, kind string, n int) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", b.host())
	if err != nil {
		b.count(kind, "refused")
		return
	}
	defer c.Close()
	_, _ = io.WriteString(c, strings.ReplaceAll(garbled[n%len(garbled)], "HOST", b.host())) // may be closed already
	if err := c.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		b.count(kind, "no answer")
		return
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 4096)) // the status is what counts
	b.count(kind, strconv.Itoa(resp.StatusCode))
	// The server of the standard library answers 501 and 505 itself.
	if resp.StatusCode == http.StatusInternalServerError {
		b.breaks(kind, "%.60q: %d %.300s", garbled[n%len(garbled)], resp.StatusCode, raw)
	}
}

// eventStreams follows events and pages without reading them.
func (b *battle) eventStreams(ctx context.Context, kind string, n int) {
	path := []string{"/gybe/v1/events", "/ui/events/", "/ui/events/packages"}[rand.N(3)]
	b.hold(ctx, kind, 300, 4*time.Second, fmt.Sprintf(
		"GET %s HTTP/1.1\r\nHost: %s%s\r\nAccept: text/event-stream\r\n\r\n", path, b.host(), b.login(n)))
}
