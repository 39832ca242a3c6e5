package coreutils

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

var hashes = map[string]func() hash.Hash{"md5sum": md5.New, "sha1sum": sha1.New, "sha256sum": sha256.New, "sha512sum": sha512.New}

func checksum(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "cbtwz", "check=c", "quiet=quiet", "status=status", "strict=strict", "binary=b", "ignore-missing=im", "tag=tag")
	if !ok {
		return 1
	}
	sum := func(name string) (string, error) {
		b, err := readAll(p, name)
		if err != nil {
			return "", err
		}
		h := hashes[p.Name()]()
		_, _ = h.Write(b)
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	if !f.has("c") {
		return each(p, f.args, func(name string, r io.Reader) error {
			h := hashes[p.Name()]()
			if _, err := io.Copy(h, r); err != nil {
				return err
			}
			p.Printf("%s  %s\n", hex.EncodeToString(h.Sum(nil)), name)
			return nil
		})
	}
	list, status := slurp(p, f.args)
	bad, lines := 0, 0
	for _, l := range list {
		want, name, ok := strings.Cut(l, " ")
		if !ok {
			continue
		}
		lines++
		name = strings.TrimLeft(name, " *")
		got, err := sum(name)
		switch {
		case err != nil && f.has("im"):
		case err != nil:
			p.Errorf("%s: %s: %s\n", p.Name(), name, process.Reason(err))
			p.Printf("%s: FAILED open or read\n", name)
			bad++
		case got != strings.ToLower(want):
			if !f.has("status") {
				p.Printf("%s: FAILED\n", name)
			}
			bad++
		default:
			if !f.has("status") && !f.has("quiet") {
				p.Printf("%s: OK\n", name)
			}
		}
	}
	if lines == 0 {
		return p.Errorf("%s: no properly formatted checksum lines found\n", p.Name())
	}
	if bad > 0 {
		if !f.has("status") {
			p.Errorf("%s: WARNING: %d computed checksum did NOT match\n", p.Name(), bad)
		}
		return 1
	}
	return status
}

func base64Text(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "dw:i", "decode=d", "wrap:=w", "ignore-garbage=i")
	if !ok {
		return 1
	}
	name := "-"
	if len(f.args) > 0 {
		name = f.args[0]
	}
	data, err := readAll(p, name)
	if err != nil {
		return fail(p, name, err)
	}
	if f.has("d") {
		text := strings.Map(func(r rune) rune {
			if r == '\n' || r == '\r' || f.has("i") && r == ' ' {
				return -1
			}
			return r
		}, string(data))
		out, err := base64.StdEncoding.DecodeString(text)
		_, _ = p.Out().Write(out)
		if err != nil {
			return p.Errorf("base64: invalid input\n")
		}
		return 0
	}
	text, n := base64.StdEncoding.EncodeToString(data), f.num("w", 76)
	w := output(p)
	if n == 0 {
		_, _ = w.WriteString(text)
		return flush(w, 0)
	}
	for len(text) > 0 {
		k := min(n, len(text))
		_, _ = w.WriteString(text[:k] + "\n")
		text = text[k:]
	}
	return flush(w, 0)
}

// od prints bytes in hexadecimal: od -An -tx1, xxd -p, hexdump -v -e '1/1 "%02x"'.
func od(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "A:t:N:vpe:Cn:c:l:j:", "address-radix:=A", "format:=t", "read-bytes:=N", "plain=p")
	if !ok {
		return 1
	}
	name := "-"
	if len(f.args) > 0 {
		name = f.args[0]
	}
	r, done, err := open(p, name)
	if err != nil {
		return fail(p, name, err)
	}
	defer done()
	limit := int64(1 << 20)
	for _, k := range []string{"N", "n", "l"} {
		if f.has(k) {
			if limit, err = size(f.val(k)); err != nil {
				return p.Errorf("%s: %v\n", p.Name(), err)
			}
		}
	}
	data, _ := io.ReadAll(io.LimitReader(r, limit))
	if p.Name() != "od" {
		text := hex.EncodeToString(data)
		if f.has("p") {
			for len(text) > 60 {
				p.Printf("%s\n", text[:60])
				text = text[60:]
			}
			text += "\n"
		}
		p.Printf("%s", text)
		return 0
	}
	group := 1
	if t := f.val("t"); len(t) > 1 {
		if n, ok := atoi(strings.TrimLeft(t, "xudo")); ok {
			group = n
		}
	}
	for i := 0; i < len(data); i += 16 {
		row := data[i:min(i+16, len(data))]
		if f.val("A") != "n" {
			p.Printf("%07o", i)
		}
		for j := 0; j < len(row); j += group {
			part := row[j:min(j+group, len(row))]
			v := uint64(0)
			for _, p := range slices.Backward(part) {
				v = v<<8 | uint64(p)
			}
			switch {
			case strings.HasPrefix(f.val("t"), "u"), strings.HasPrefix(f.val("t"), "d"):
				p.Printf(" %*d", []int{0, 3, 5, 8, 10, 13, 15, 18, 20}[group], v)
			default:
				p.Printf(" %s", fmt.Sprintf("%0*x", 2*group, v))
			}
		}
		p.Printf("\n")
	}
	return 0
}
