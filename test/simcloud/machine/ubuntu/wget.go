package ubuntu

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func (o *OS) wget(ctx context.Context, p *process.Proc) int {
	r := &webRequest{method: http.MethodGet, header: http.Header{}, fail: true, follow: true}
	out, urls, dir := "", []string{}, ""
	for i := 1; i < len(p.Args); i++ {
		a := p.Args[i]
		next := func() string {
			if i++; i < len(p.Args) {
				return p.Args[i]
			}
			return ""
		}
		switch {
		case a == "-O" || a == "--output-document":
			out = next()
		case strings.HasPrefix(a, "--output-document="):
			out = a[len("--output-document="):]
		case a == "-P":
			dir = next()
		case a == "-T" || a == "-t" || a == "--header" || a == "-U" || a == "-o":
			next()
		case a == "-q" || a == "--quiet" || a == "-nv":
			r.silent = true
		case strings.HasPrefix(a, "-qO"), strings.HasPrefix(a, "-O"):
			r.silent = strings.HasPrefix(a, "-q")
			if out = a[strings.IndexByte(a, 'O')+1:]; out == "" {
				out = next()
			}
		case a == "--no-check-certificate":
			r.insecure = true
		case strings.HasPrefix(a, "-"):
		default:
			urls = append(urls, a)
		}
	}
	if len(urls) == 0 {
		return p.Errorf("wget: missing URL\n")
	}
	for _, u := range urls {
		r.url = u
		target := out
		if target == "" {
			target = path.Join(dir, path.Base(u))
		}
		res, err := r.do(ctx, o, p)
		if err != nil {
			p.Errorf("wget: unable to resolve host address or connect: %v\n", err)
			return 4
		}
		if res.code >= 400 {
			if !r.silent {
				p.Errorf("ERROR %d: %s.\n", res.code, http.StatusText(res.code))
			}
			return 8
		}
		if target == "-" {
			_, _ = p.Out().Write(res.body)
		} else if err := p.WriteFile(target, res.body, 0o666); err != nil {
			p.Errorf("%s: %s\n", target, process.Reason(err))
			return 3
		}
	}
	return 0
}

// Fetch gets a URL as kubectl does for manifests: from the simulated internet, or over the machine's network.
func (o *OS) Fetch(ctx context.Context, p *process.Proc, rawURL string) ([]byte, error) {
	r := &webRequest{method: http.MethodGet, url: rawURL, header: http.Header{}, follow: true}
	res, err := r.do(ctx, o, p)
	if err != nil {
		return nil, err
	}
	if res.code != http.StatusOK {
		return nil, fmt.Errorf("server reported %d %s, status code=%d", res.code, http.StatusText(res.code), res.code)
	}
	return res.body, nil
}
