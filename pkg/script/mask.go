package script

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// stars stand for a secret.
const stars = "***"

// credential finds what is in an Authorization header.
var credential = regexp.MustCompile(`(?i)\b(basic|bearer) +[A-Za-z0-9._~+/=-]{6,}`)

// masks hide secrets in text.
type masks struct {
	secrets []string // the longest first, because one may be part of another
	short   []*regexp.Regexp
}

// newMasks makes them of the secrets, and of the forms in which they are usually written.
func newMasks(secrets []string) masks {
	var m masks
	add := func(s string) {
		switch {
		case strings.TrimSpace(s) == "" || slices.Contains(m.secrets, s):
		case len(s) < 4: // anywhere in a word it would hide everything
			m.short = append(m.short, regexp.MustCompile(`(^|\W)`+regexp.QuoteMeta(s)+`($|\W)`))
		default:
			m.secrets = append(m.secrets, s)
		}
	}
	for _, s := range secrets {
		add(base64.StdEncoding.EncodeToString([]byte(s)))
		add(url.QueryEscape(s))
		add(url.PathEscape(s))
		add(strings.ReplaceAll(url.PathEscape(s), "%2F", "/"))
		for _, quoted := range []string{strconv.Quote(s), strconv.QuoteToASCII(s)} { // as JSON has it
			add(quoted[1 : len(quoted)-1])
		}
		for l := range strings.Lines(s) { // as the output is read
			add(strings.TrimRight(l, "\r\n"))
		}
	}
	slices.SortFunc(m.secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return m
}

// hide masks the secrets in a line.
func (m masks) hide(line string) string {
	for _, s := range m.secrets {
		line = strings.ReplaceAll(line, s, stars)
	}
	for _, s := range m.short {
		line = s.ReplaceAllString(line, "${1}"+stars+"${2}")
	}
	return credential.ReplaceAllString(line, "$1 "+stars)
}

// secretsOf finds the secrets in a script's input: what is in members whose names stand for secrets, passwords of URLs, and private keys.
func secretsOf(input any) []string {
	var out []string
	var walk func(v any, secret bool)
	walk = func(v any, secret bool) {
		switch v := v.(type) {
		case map[string]any:
			for name, e := range v {
				walk(e, secret || sol.IsSecretName(name))
			}
		case []any:
			for _, e := range v {
				walk(e, secret)
			}
		case string:
			if u, err := url.Parse(v); err == nil && u.User != nil {
				if p, ok := u.User.Password(); ok {
					out = append(out, p)
				}
			}
			if secret || strings.Contains(v, "PRIVATE KEY-----") {
				out = append(out, v)
			}
		case json.Number:
			if secret {
				out = append(out, v.String())
			}
		}
	}
	walk(input, false)
	return out
}
