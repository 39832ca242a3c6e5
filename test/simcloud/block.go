package simcloud

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
)

// reservePort is the port on 127.A.255.254 whose listener is the reservation of block A on this machine.
const reservePort = 7790

// Block is the loopback network 127.A.0.0/16 that one cloud owns as long as its listener lives. Every process that
// simulates a cloud on this machine owns another A, so their servers never meet.
//
//	127.A.0.0/24    the cloud's own addresses
//	127.A.10.0/24   net0/subnet0, fixed addresses
//	127.A.20.0/24   public, floating addresses
//	127.A.30.0 …    networks that a template creates
type Block struct {
	a  byte
	ln net.Listener
}

// ReserveBlock takes a free block. The caller must Close it.
func ReserveBlock(ctx context.Context) (*Block, error) {
	const first, last = 2, 254
	var lc net.ListenConfig
	start := rand.IntN(last - first + 1)
	var errs error
	for i := range last - first + 1 {
		a := byte(first + (start+i)%(last-first+1))
		ln, err := lc.Listen(ctx, "tcp4", net.JoinHostPort(addrIn(a, 255, 254).String(), strconv.Itoa(reservePort)))
		if err == nil {
			return &Block{a: a, ln: ln}, nil
		}
		errs = err
	}
	return nil, fmt.Errorf("reserve a loopback block: none of 127.2.0.0/16 to 127.254.0.0/16 is free: %w", errs)
}

// A is the block's second octet.
func (b *Block) A() byte { return b.a }

// Prefix is the whole block, 127.A.0.0/16.
func (b *Block) Prefix() netip.Prefix { return netip.PrefixFrom(addrIn(b.a, 0, 0), 16) }

// Net0 is the prefix of subnet0, 127.A.10.0/24.
func (b *Block) Net0() netip.Prefix { return b.Subnet(10) }

// Public is the prefix of the floating addresses, 127.A.20.0/24.
func (b *Block) Public() netip.Prefix { return b.Subnet(20) }

// Subnet is 127.A.n.0/24.
func (b *Block) Subnet(n byte) netip.Prefix { return netip.PrefixFrom(addrIn(b.a, n, 0), 24) }

// Addr is 127.A.c.d.
func (b *Block) Addr(c, d byte) netip.Addr { return addrIn(b.a, c, d) }

// Close gives the block back.
func (b *Block) Close() error { return b.ln.Close() }

func addrIn(a, c, d byte) netip.Addr { return netip.AddrFrom4([4]byte{127, a, c, d}) }
